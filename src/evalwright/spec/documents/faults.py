"""What is wrong with a document, before it is known where that stands.

A rule looks at plain data and yields faults, each with the path of what it is about; `check` adds
file, line and column, which makes a `Problem` of it.
"""

from typing import Any, Literal, NamedTuple

from evalwright.nearest import nearest
from evalwright.spec.documents.problems import Path


class Fault(NamedTuple):
    """One thing that is wrong, at a path of the data."""

    path: Path
    rule: str
    detail: str
    """One line: what was expected, and what came."""
    hint: str = ""
    level: Literal["error", "warning"] = "error"
    at_key: bool = False
    """It is about the key, not about what stands behind it."""
    line: int = 0
    """Of the file that the value's text stands in, where the fault knows better; else 0."""


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str:
    """The hint for a misspelt name; empty when none is close."""
    suggestion = nearest(word, known)
    return f"did you mean `{suggestion}`?" if suggestion else ""


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Names as a message lists them."""
    return ", ".join(f"`{name}`" for name in names)


def kind_of_value(value: Any) -> str:
    """What a value is, in the words of the messages."""
    if value is None:
        return "null"
    for kind in (bool, int, float, str, list, dict):
        if isinstance(value, kind):
            return kind.__name__
    return type(value).__name__
