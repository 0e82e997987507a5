"""`target_not_an_option`: the letter of the target is not among the options of the prompt.

Why:    no answer to the question as it is asked can be right.
Wrong:  when the options that were found are not all there are; a prompt in which the letter
        stands in any option-like shape is left alone.
"""

import re

from evalwright.spec.records.lint.findings import Record
from evalwright.text.options import options

NAME = "target_not_an_option"
_CLOSED = re.compile(r"(?<![^\W_])([A-Ea-e])\s*[*]*[).:、\]|=\uff08-\uff1a-]")


def judge(record: Record) -> str | None:
    """Return what the options are, when they are at least two and the target is none of them."""
    if record.task.category != "mcq":
        return None
    prompt, target = record.task.prompt, record.task.targets[0]
    offered = [option.letter for option in options(prompt)]
    if not offered or target in offered:
        return None
    if any(found[1].upper() == target for found in _CLOSED.finditer(prompt)):
        return None
    return (
        f"the target is {target}, but the prompt offers {', '.join(offered)}: "
        "no answer can be right; mend the target or the options"
    )
