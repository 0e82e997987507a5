"""Report what is valid in a file of records but suspicious.

    linter          one file being linted, and every rule over a stream of records; `RULES`
    findings        the types: LintedRecord, Finding, Places, Rule
    words           a prompt as words, numbers and symbols
    corpus          what is kept of the prompts, and queries on it
    single_record   duplicate_options, target_not_an_option, empty_target, unreachable_target,
                    answer_in_examples, embedded_examples
    duplicates      duplicate_prompt, near_duplicate
    distributions   skewed_letters, uneven_length
    target_in_prompt

Each module's docstring says what its rules catch, why that matters, and when a rule is wrong; the
guide `docs/guides/lint.md` is shorter.

Rules prefer misses to false alarms: a sound benchmark must lint clean.
"""
