"""What is wrong in a document: where, what, and what to write instead.

Nothing in this room raises for what an author wrote: every mistake is a `Problem`, and all of a
document are reported at once.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

Path = tuple[str | int, ...]
"""The way to a value of a document: keys of mappings and numbers of list items."""
_LONGEST = 300


class Problem(Struct, frozen=True, kw_only=True):
    """One mistake, at its place."""

    file: str
    line: int
    """From 1."""
    column: int | None = None
    """From 1, in characters; None where only the line is known."""
    rule: str
    field: str = ""
    """The dotted path of the value, as `definition.scorers[0].ground_truth`."""
    detail: str
    """One line: what was expected, what came."""
    hint: str = ""
    """One line: what to write now."""
    level: Literal["error", "warning"] = "error"


def dotted(path: Iterable[str | int]) -> str:
    """A path as people write it: `definition.scorers[0].ground_truth`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else str(step)
    return one_line(text)


def one_line(text: str) -> str:
    """A text that holds an author's words, fit for a message: no line ends, no endless length."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def errors_in(problems: Iterable[Problem]) -> list[Problem]:
    """Those that must be mended before anything can run."""
    return [problem for problem in problems if problem.level == "error"]
