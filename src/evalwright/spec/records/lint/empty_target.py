"""`empty_target`: saying nothing gets full marks.

Why:    an empty target equals an empty answer, and to `f1` and `rouge_l` a target without a word
        (an emoji, `?!`) is an empty one: a model that refuses, fails or is cut off scores 1.
Wrong:  when silence is the right answer, as it may be in a record that tests a stop.
"""

from evalwright.spec.records.lint.findings import Record, shown
from evalwright.text.tokens import tokens

NAME = "empty_target"


def judge(record: Record) -> str | None:
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
