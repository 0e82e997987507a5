"""`unreachable_target`: no output whatever can get full marks.

Why:    the record costs every model the same points, and looks like a hard question. Either the
        post-process step makes answers that no target equals (`lower` and a target with a capital,
        `extract_first_line` and a target of several lines), or a `code_exec` target is not Python,
        which makes the record fail at the stage `score` for every candidate, or a `bleu_4` target
        has no word.
Wrong:  never, where the sandbox runs the Python that lints.

One target that can be reached is enough, except in `code_exec`, where all must pass.
"""

import warnings
from collections.abc import Callable

from evalwright.spec.records.lint.findings import Record, shown
from evalwright.text.similarity import tokens
from evalwright.types import TaskSpec

NAME = "unreachable_target"
_EXACT = ("exact_match", "accuracy")


def _is_lower(target: str) -> bool:
    return target.lower() == target


def _is_one_line(target: str) -> bool:
    return len(target.splitlines()) <= 1


# The shape of what a post-process step returns; the others can return any stripped text.
_SHAPES: dict[str, tuple[Callable[[str], bool], str]] = {
    "lower": (_is_lower, "`lower` leaves no capital in an answer; write the target in lower case"),
    "extract_first_line": (
        _is_one_line,
        "`extract_first_line` leaves one line of an answer; cut the target or use another step",
    ),
}


def judge(record: Record) -> str | None:
    """Return why no output gets full marks, or None."""
    task = record.task
    if task.metric_name == "code_exec":
        return _not_python(task)
    if task.metric_name == "bleu_4" and not any(map(tokens, task.targets)):
        why = "`bleu_4` compares words and it has none; change the target or the metric"
        return f"nothing can reach {shown(task.targets[0])}: {why}"
    if task.metric_name not in _EXACT or task.post_process not in _SHAPES:
        return None
    can_be, why = _SHAPES[task.post_process]
    if any(can_be(target.strip()) for target in task.targets):
        return None
    return f"no answer can equal {shown(task.targets[0])}: {why}"


def _not_python(task: TaskSpec) -> str | None:
    with warnings.catch_warnings():  # a target's style is no finding
        warnings.simplefilter("ignore")
        for number, target in enumerate(task.targets):
            if error := _fault(target):
                return (
                    f"`targets[{number}]` is not Python ({error}): the record fails for every "
                    "candidate; mend the target"
                )
    return None


def _fault(target: str) -> str | None:
    """Return why a target does not compile, as statements or, whatever its indent, as one value."""
    try:
        compile(target, "<target>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        try:
            compile(target.lstrip(" \t"), "<target>", "eval", dont_inherit=True)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            return error.msg if isinstance(error, SyntaxError) else str(error) or "too deep"
    return None
