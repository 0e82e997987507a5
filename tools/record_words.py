"""What the words of contract A mean, for the reference page of records."""

POST_PROCESS_RESULTS: dict[str, str] = {
    "none": "the text, unchanged",
    "strip_whitespace": "leading and trailing whitespace removed",
    "lower": "lowercased, nothing else",
    "extract_letter": (
        "the first standalone `A`-`E` (no adjacent letter or digit); "
        "otherwise the first character in `A`-`E`; otherwise empty"
    ),
    "extract_code_block": (
        "the body of the first triple-backtick block; without a block, the text unchanged"
    ),
    "extract_first_line": "the first line that is not blank, stripped; otherwise empty",
}

METRIC_RESULTS: dict[str, str] = {
    "exact_match": "1 if the stripped prediction equals any stripped target",
    "f1": "token multiset F1, best target",
    "bleu_4": "sentence BLEU, n = 1..4, add-one smoothing, brevity penalty, best target",
    "rouge_l": "LCS F-measure with beta = 1, best target",
    "accuracy": "the same as `exact_match`, under the usual name in classification",
    "code_exec": "passed targets / all targets, run in the sandbox",
}

RULE_MEANINGS: dict[str, str] = {
    "bad_encoding": "the line is not UTF-8",
    "bad_json": "not JSON, a repeated key, NaN, a lone surrogate, or longer than 16 MiB",
    "not_an_object": "JSON, but not an object",
    "missing_required": "a required field is missing",
    "unknown_field": "a field that is not in the spec",
    "bad_type": "a field of the wrong type",
    "bad_value": "the right type, but empty, out of vocabulary or out of range",
    "embedded_few_shot": "the prompt contains a few-shot block (see above)",
    "illegal_metric": "the category does not allow this metric",
    "illegal_post_process": "the category does not allow this post-process rule",
    "duplicate_task_id": "an earlier record has this id",
}
