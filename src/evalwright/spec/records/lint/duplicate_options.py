"""`duplicate_options`: a multiple-choice prompt offers the same text under two letters.

Why:    a model that knows the answer cannot know which of the two letters is counted right.
Wrong:  when options differ in something that the text does not show, or only in whitespace (a
        question about indentation).
"""

from evalwright.spec.records.lint.findings import Record, shown
from evalwright.text.options import options

NAME = "duplicate_options"


def judge(record: Record) -> str | None:
    """Return the first two options that say the same; case counts, empty ones do not."""
    if record.task.category != "mcq":
        return None
    first: dict[str, str] = {}
    for letter, text in options(record.task.prompt):
        if text and (other := first.setdefault(text, letter)) != letter:
            either = record.task.targets[0] in (letter, other)
            harm = "only one of them is counted right" if either else "one of them is wasted"
            return f"options {other} and {letter} both say {shown(text)}: {harm}; change one"
    return None
