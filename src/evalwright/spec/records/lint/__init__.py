"""What is legal in a file of records and still suspicious.

    linter          one file being linted, and every rule over a stream of records; `RULES`
    findings        the nouns: LintedRecord, Finding, Places, Rule
    words           a prompt as words, numbers and symbols
    corpus          what is kept of the prompts, and what may be asked of them
    single_record   duplicate_options, target_not_an_option, empty_target, unreachable_target,
                    answer_in_examples, embedded_examples
    duplicates      duplicate_prompt, near_duplicate
    distributions   skewed_letters, uneven_length
    target_in_prompt

The module's docstring says what a rule catches, why that matters, and when it is wrong; the guide
`docs/guides/lint.md` says it shorter.

A rule would rather miss than cry wolf: a benchmark that is in order must lint clean.
"""
