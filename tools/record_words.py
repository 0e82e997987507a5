"""Definitions of the terms on the reference page for task records."""

POST_PROCESS_RESULTS: dict[str, str] = {
    "none": "the text unchanged",
    "strip_whitespace": "the text without leading and trailing whitespace",
    "lower": "the text in lowercase",
    "extract_letter": (
        "the first standalone `A`-`E` (no adjacent letter or digit); "
        "otherwise the first `A`-`E` character; empty if there is none"
    ),
    "extract_code_block": (
        "the body of the first triple-backtick block; without a block, the text unchanged"
    ),
    "extract_first_line": "the first non-blank line, stripped; empty if there is none",
}

METRIC_RESULTS: dict[str, str] = {
    "exact_match": "1 if the stripped prediction equals any stripped target",
    "f1": (
        "token multiset F1 for the best target; "
        "if neither text has a token, 1 if they are equal, otherwise 0"
    ),
    "bleu_4": "sentence BLEU for the best target: n = 1..4, add-one smoothing, brevity penalty",
    "rouge_l": (
        "LCS F-measure with beta = 1 for the best target; text without tokens is treated as in `f1`"
    ),
    "accuracy": "same as `exact_match`, under the usual name for classification",
    "code_exec": "passed targets / all targets, run in a sandbox",
}

RULE_MEANINGS: dict[str, str] = {
    "bad_encoding": "the line is not UTF-8",
    "bad_json": (
        "the line is not JSON, is longer than 16 MiB, or contains a repeated key, NaN or a lone "
        "surrogate"
    ),
    "not_an_object": "the line is JSON but not an object",
    "missing_required": "a required field is missing",
    "unknown_field": "a field is not part of the specification",
    "bad_type": "a field has the wrong type",
    "bad_value": "a value is empty, out of range or not an allowed word",
    "embedded_few_shot": "the prompt contains a few-shot block (see above)",
    "illegal_metric": "the category does not allow this metric",
    "illegal_post_process": "the category does not allow this post-process rule",
    "duplicate_task_id": "an earlier record has this id",
}
