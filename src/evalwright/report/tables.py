"""Tables of strings, and how their cells are written.

Names and messages are shortened here, and only here: JSON has them whole. A cell is one line of
printable characters, whatever a model or an author wrote.
"""

import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from evalwright.text.visible import visible

NOTHING = "–"
_LONGEST_NAME = 36
_LONGEST_MESSAGE = 200
_MOST_DECIMALS = 8
_ZERO_WIDTH = ("Mn", "Me", "Cf")
"""Categories of Unicode: marks, which are drawn over another character, and joiners."""


class Table(NamedTuple):
    """One table, its cells ready to print. `numeric` says which columns align right."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()
    note: str = ""
    below: tuple[str, ...] = ()
    """Lines to show below it as they are, each character as wide as the others."""


class Facts(NamedTuple):
    """Names and what is known of each: rows of two or more cells, without heads."""

    rows: Sequence[tuple[str, ...]]
    indent: str = ""


Block = str | Table | Facts
"""A part of a page; `layout` makes lines of it for a terminal of any width."""


class TableColumn(NamedTuple):
    """The head of a column, how the cell of a row is written, and whether it aligns right."""

    head: str
    cell: Callable[[Any], str]
    is_numeric: bool = False


def make_table(
    title: str, rows: Iterable[Any], columns: Sequence[TableColumn], note: str = ""
) -> Table:
    """Write one cell per row and column."""
    return Table(
        title,
        tuple(column.head for column in columns),
        [tuple(column.cell(row) for column in columns) for row in rows],
        frozenset(index for index, column in enumerate(columns) if column.is_numeric),
        note,
    )


def name_column(attribute: str, head: str = "") -> TableColumn:
    """Return the column of an attribute that holds a name."""
    return TableColumn(head or attribute, lambda row: shorten(getattr(row, attribute) or NOTHING))


def decimal_column(
    attribute: str, head: str = "", digits: int = 3, *, flag: str = ""
) -> TableColumn:
    """Return the column of an attribute that holds a number, or None."""
    return numeric_column(
        head or attribute, lambda row: format_number(getattr(row, attribute), digits, flag=flag)
    )


def count_column(attribute: str, head: str = "") -> TableColumn:
    """Return the column of an attribute that holds a count."""
    return numeric_column(head or attribute, lambda row: str(getattr(row, attribute)))


def interval_column(digits: int = 3, *, flag: str = "") -> TableColumn:
    """Return the column of the interval of a row."""
    return numeric_column(
        "95 % interval", lambda row: format_interval(row.ci_low, row.ci_high, digits, flag=flag)
    )


def marked_interval_column(digits: int = 3) -> TableColumn:
    """Return the column of the interval of a row; `(b)` marks a bound."""
    head, cell, _ = interval_column(digits)
    return numeric_column(head, lambda row: cell(row) + " (b)" * (row.interval == "bound"))


def explain_bounds(rows: Iterable[Any]) -> str:
    """Return what `(b)` means, if a row has it."""
    has_bound = any(row.interval == "bound" for row in rows)
    return (
        "; (b): all scores are equal, so this is a bound for scores in [0, 1]" if has_bound else ""
    )


def numeric_column(head: str, cell: Callable[[Any], str]) -> TableColumn:
    """Return a column that aligns right."""
    return TableColumn(head, cell, is_numeric=True)


def table_to_markdown(table: Table) -> str:
    """Return a table under its title, as GitHub-flavoured markdown."""
    lines = [f"## {escape_markdown(table.title)}", ""]
    if table.note:
        lines += [escape_markdown(table.note), ""]
    rule = ("--:" if index in table.numeric else ":--" for index in range(len(table.columns)))
    rows = [map(escape_markdown, row) for row in (table.columns, *table.rows)]
    cells = [rows[0], rule, *rows[1:]]
    lines += [f"| {' | '.join(row)} |" for row in cells]
    if table.below:
        lines += ["", "```text", *(line.replace("`", "'") for line in table.below), "```"]
    return "\n".join(lines)


def escape_markdown(text: str) -> str:
    """Keep text that a model or an author wrote from becoming markup or another cell."""
    for sign in "\\|<>*_[]`~&":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def align_rows(
    rows: Iterable[Sequence[str]], right: Container[int] = (), *, indent: str = ""
) -> Iterator[str]:
    """Yield a line of plain text per row; the columns in `right` align right."""
    cells = [tuple(map(visible, row)) for row in rows]
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line = "  ".join(
            pad(cell, width, right=index in right)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"{indent}{line}".rstrip()


def pad(cell: str, width: int, *, right: bool = False) -> str:
    """Fill a cell with spaces up to its width on a terminal."""
    padding = " " * (width - display_width(cell))
    return padding + cell if right else cell + padding


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: two per CJK character."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def take_columns(text: str, width: int) -> str:
    """Return as much of the start of a text as fits into that many columns."""
    if text.isascii():
        return text[:width]
    for index, character in enumerate(text):
        width -= _character_width(character)
        if width < 0:
            return text[:index]
    return text


def _character_width(character: str) -> int:
    if unicodedata.category(character) in _ZERO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(name: str, limit: int = _LONGEST_NAME) -> str:
    """Cut the middle out of a long name: both ends of a model name tell models apart."""
    name = join_lines(name)
    if display_width(name) <= limit:
        return name
    tail = limit // 2
    return f"{take_columns(name, limit - tail - 1)}…{take_columns(name[::-1], tail)[::-1]}"


def shorten_message(text: str) -> str:
    """Cut the end off a long message."""
    return truncate(join_lines(text), _LONGEST_MESSAGE)


def truncate(text: str, limit: int) -> str:
    """Cut the end off a text that is longer than the limit."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def join_lines(text: str) -> str:
    """Make one line of printable characters of a text."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def count_noun(n: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def format_number(value: float | None, digits: int = 3, *, flag: str = "") -> str:
    """Write a number with as many decimals; a dash where there is none.

    The flag is one of format specifications: `+` for a sign, `,` for groups of thousands.
    """
    return NOTHING if value is None else f"{value:{flag}.{digits}f}"


def format_interval(
    low: float | None, high: float | None, digits: int = 3, *, flag: str = ""
) -> str:
    """Write an interval; a dash where there is none."""
    if low is None or high is None:
        return NOTHING
    ends = (format_number(end, digits, flag=flag) for end in (low, high))
    return f"[{', '.join(ends)}]"


def dollars(cost: float | None) -> str:
    """`$12.34`, `$0.0010`, `$0.00` for nothing, `unknown` where no price is known."""
    if cost is None:
        return "unknown"
    if cost == 0 or cost >= 1:
        return f"${cost:,.2f}"
    digits = 2
    while digits < _MOST_DECIMALS and round(cost, digits) < 10 ** (1 - digits):
        digits += 1
    return f"${cost:.{digits}f}"
