"""Rules about one multiple-choice record or one target.

`duplicate_options`: a multiple-choice prompt offers the same text under two letters.

Why:    a model that knows the answer cannot know which of the two letters is counted right.
Wrong:  when options differ in something that the text does not show, or only in whitespace (a
        question about indentation).

`target_not_an_option`: the letter of the target is not among the options of the prompt.

Why:    no answer to the question as it is asked can be right.
Wrong:  when the options that were found are not all there are; a prompt in which the letter
        stands in any option-like shape is left alone.

`empty_target`: saying nothing gets full marks.

Why:    an empty target equals an empty answer, and to `f1` and `rouge_l` a target without a word
        (an emoji, `?!`) is an empty one: a model that refuses, fails or is cut off scores 1.
Wrong:  when silence is the right answer, as it may be in a record that tests a stop.
"""

import re

from evalwright.spec.records.lint.findings import Record, shown
from evalwright.text.prompt import find_options
from evalwright.text.similarity import tokens

_CLOSED = re.compile(r"(?<![^\W_])([A-Ea-e])\s*[*]*[).:、\]|=\uff08-\uff1a-]")


def find_duplicate_options(record: Record) -> str | None:
    """Return the first two options that say the same; case counts, empty ones do not."""
    if record.task.category != "mcq":
        return None
    first: dict[str, str] = {}
    for letter, text in find_options(record.task.prompt):
        if text and (other := first.setdefault(text, letter)) != letter:
            either = record.task.targets[0] in (letter, other)
            harm = "only one of them is counted right" if either else "one of them is wasted"
            return f"options {other} and {letter} both say {shown(text)}: {harm}; change one"
    return None


def explain_missing_option(record: Record) -> str | None:
    """Return what the options are, when they are at least two and the target is none of them."""
    if record.task.category != "mcq":
        return None
    prompt, target = record.task.prompt, record.task.targets[0]
    offered = [option.letter for option in find_options(prompt)]
    if not offered or target in offered:
        return None
    if any(found[1].upper() == target for found in _CLOSED.finditer(prompt)):
        return None
    return (
        f"the target is {target}, but the prompt offers {', '.join(offered)}: "
        "no answer can be right; mend the target or the options"
    )


def find_empty_target(record: Record) -> str | None:
    """Return the target that an empty answer reaches."""
    metric = record.task.metric_name
    if metric in ("bleu_4", "code_exec"):
        return None
    for number, target in enumerate(record.task.targets):
        if not target.strip():
            return f"`targets[{number}]` is empty: an empty answer is counted right; remove it"
        if metric in ("f1", "rouge_l") and not tokens(target):
            return (
                f"`targets[{number}]`, {shown(target)}, has no word, and `{metric}` compares "
                "words: an empty answer gets full marks; change the target or the metric"
            )
    return None
