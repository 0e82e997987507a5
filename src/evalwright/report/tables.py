"""Tables of strings, and how their cells are written.

Names and messages are shortened here, and only here: JSON has them whole. A cell is one line of
printable characters, whatever a model or an author wrote.
"""

from typing import NamedTuple

NOTHING = "–"
_LONGEST_NAME = 36
_LONGEST_MESSAGE = 200


class Table(NamedTuple):
    """One table, its cells ready to print. `numeric` says which columns align right."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()
    note: str = ""
    below: tuple[str, ...] = ()
    """Lines to show below it as they are, each character as wide as the others."""


def shorten(name: str, limit: int = _LONGEST_NAME) -> str:
    """Cut the middle out of a long name: both ends of a model name tell models apart."""
    name = join_lines(name)
    if len(name) <= limit:
        return name
    tail = limit // 2
    return f"{name[: limit - tail - 1]}…{name[-tail:]}"


def shorten_message(text: str) -> str:
    """Cut the end off a long message."""
    line = join_lines(text)
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 1]}…"


def join_lines(text: str) -> str:
    """Make one line of printable characters of a text."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def count_noun(n: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def format_number(value: float | None, digits: int = 3) -> str:
    """Write a number with as many decimals; a dash where there is none."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def format_interval(
    low: float | None, high: float | None, digits: int = 3, *, signed: bool = False
) -> str:
    """Write an interval; a dash where there is none."""
    if low is None or high is None:
        return NOTHING
    form = f"{'+' if signed else ''}.{digits}f"
    return f"[{low:{form}}, {high:{form}}]"
