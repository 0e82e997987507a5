"""Report suspicious but valid records in a file.

    linter          lints a file; applies all rules to a stream of records; `RULES`
    findings        the types: LintedRecord, Finding, Places, Rule
    words           splits a prompt into words, numbers and symbols
    corpus          keeps digests and words of the prompts, and answers queries
    single_record   duplicate_options, target_not_an_option, empty_target, unreachable_target,
                    answer_in_examples, embedded_examples
    several_records
                    duplicate_prompt, near_duplicate, skewed_letters, uneven_length
    target_in_prompt

The docstring of each module explains what its rules detect, why it matters, and when a rule is
wrong. The guide `docs/guides/lint.md` is shorter.

Rules prefer false negatives to false positives: a sound benchmark must have no findings.
"""
