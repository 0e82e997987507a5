"""What is legal in a file of records and still suspicious.

    linting     one file being linted: iterate for its findings, then read the counts
    linter      every rule over a stream of records; `RULES` is the list of them
    findings    the nouns: Record, Finding, Places, Rule
    words       a prompt as words, numbers and symbols
    options     the options that a multiple-choice prompt offers
    corpus      what is kept of the prompts, and what may be asked of them
    similar     which of the prompts kept are nearly the same

Every other module is one rule, and its name is the rule's. Its first docstring says what it
catches, why that matters, and when it is wrong; the guide `docs/guides/lint.md` says it shorter.

A rule would rather miss than cry wolf: a benchmark that is in order must lint clean.
"""

from evalwright.spec.records.lint.linting import Linting

__all__ = ["Linting"]
