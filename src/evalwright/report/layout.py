"""Lay out tables and texts for a terminal of any width, without breaking a word.

Columns shrink first: texts wrap at spaces, and a name that is too long loses its middle. Columns
that still do not fit move under their row, each with its head before it. Widths are columns of a
terminal: a CJK character takes two, and a line may break after it.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from textwrap import wrap

from evalwright.report.tables import (
    NOTHING,
    Block,
    Facts,
    Table,
    align_rows,
    display_width,
    pad,
    shorten,
)
from evalwright.text.visible import visible

_INDENT = "  "
_HEADER_UNWRAPPED = 13
_NARROWEST_NAME = 14
_NARROWEST_TEXT = 30
_LONGEST_NAME = 42
"""What is longer is a text."""
_INTERVAL = r"\[\S+, \S+\]\S*"
"""Stays on one line."""
_KEPT = {"#", "value", "mean", "difference", "B − A", "verdict", "95 % interval"}
"""Heads of columns that move last."""


def lay_out_blocks(blocks: Iterable[Block], width: int | None) -> Iterator[str]:
    """Yield the lines of a page. Without a width, a row is one line, and so is a text."""
    for block in blocks:
        if isinstance(block, Facts):
            yield from _lay_out_facts(block, width)
        elif isinstance(block, str):
            yield from wrap_lines(block, width)
        elif width is None:
            yield from align_rows([block.columns, *block.rows], block.numeric, indent=_INDENT)
        else:
            yield from lay_out(block, width)


def wrap_lines(text: str, width: int | None) -> Iterator[str]:
    """Break each line of a text at spaces, and keep its own indent."""
    if width is None:
        yield text
        return
    for line in text.split("\n"):
        words = line.lstrip(" ")
        yield from wrap_text(words, width, indent=" " * (len(line) - len(words)), hanging=_INDENT)


def wrap_text(text: str, width: int | None, *, indent: str = "", hanging: str = "") -> list[str]:
    """Break a text at spaces; words that are longer than a line stay whole."""
    if width is None or display_width(indent) + display_width(text) <= width:
        return [indent + text]
    lines, line, has_words = [], indent, False
    for space, piece in _split_words(text.expandtabs()):
        if has_words and display_width(line) + len(space) + display_width(piece) > width:
            lines.append(line)
            line = indent + hanging + piece
        else:
            line += space + piece
        has_words = True
    return [*lines, line]


def _split_words(text: str) -> Iterator[tuple[str, str]]:
    """Yield words, intervals and wide characters, each with the spaces before it."""
    for space, word in re.findall(rf"( *)({_INTERVAL}|[^ ]+)", text):
        if display_width(word) <= len(word):
            yield space, word
            continue
        pieces = re.findall("[\u0000-\u10ff]+|.[\u0300-\u036f\u3001\u3002\uff0c]*", word)
        yield space, pieces[0]
        yield from (("", piece) for piece in pieces[1:])


def _lay_out_facts(facts: Facts, width: int | None) -> Iterator[str]:
    """Yield a line per fact; where the last cell does not fit, it wraps under its own start."""
    if width is None:
        yield from align_rows(facts.rows, indent=facts.indent)
        return
    rows = [tuple(map(visible, row)) for row in facts.rows]
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)][:-1]
    for *names, fact in rows:
        start = facts.indent + "".join(
            f"{pad(name, size)}  " for name, size in zip(names, widths, strict=True)
        )
        margin = display_width(start)
        longest_word = max(map(display_width, fact.split()), default=0)
        least = max(_NARROWEST_TEXT, longest_word)
        if width - margin < min(least, display_width(fact)):
            yield start.rstrip()
            start, margin = facts.indent + _INDENT, len(facts.indent + _INDENT)
        first, *rest = wrap_text(fact, width, indent=" " * margin)
        yield f"{start}{first[margin:]}".rstrip()
        yield from rest


def lay_out(table: Table, width: int | None, *, whole: Container[int] = ()) -> Iterator[str]:
    """Yield the lines of a table: its heads, a rule, its rows.

    Without a width every row is one line. The columns in `whole` are never shortened.
    """
    natural = [_natural_width(table, index) for index in range(len(table.columns))]
    inline, gap = list(range(len(natural))), 3
    if width is not None and _total(natural, gap) > width:
        gap = 2
        least = [
            size if index in table.numeric or index in whole else _least_width(table, index, size)
            for index, size in enumerate(natural)
        ]
        movable = _moving_order(table, natural, whole)
        while _total([least[index] for index in inline], gap) > width and movable:
            inline.remove(movable.pop(0))
        while _total([natural[index] for index in inline], gap) > width:
            spare = [index for index in inline if natural[index] > least[index]]
            if not spare:
                break
            natural[max(spare, key=lambda index: natural[index])] -= 1
    moved = {index: size for index, size in enumerate(natural) if index not in inline}
    heads = [wrap(table.columns[index], natural[index], break_long_words=False) for index in inline]
    yield from _align(table, inline, natural, heads, gap)
    yield _INDENT + "─" * (_total([natural[index] for index in inline], gap) - len(_INDENT))
    for row in table.rows:
        cells = [
            [row[index]] if index in table.numeric else _fit(row[index], natural[index])
            for index in inline
        ]
        yield from _align(table, inline, natural, cells, gap)
        yield from _lines_under(table, row, moved, width)


def _total(widths: Sequence[int], gap: int) -> int:
    return len(_INDENT) + sum(widths) + gap * (len(widths) - 1)


def _natural_width(table: Table, index: int) -> int:
    head, longest = table.columns[index], max(display_width(row[index]) for row in table.rows)
    if index not in table.numeric:
        return max(longest, display_width(head))
    lines = wrap(head, max(longest, _HEADER_UNWRAPPED), break_long_words=False)
    return max([longest, *map(display_width, lines)])


def _least_width(table: Table, index: int, natural: int) -> int:
    """Return how narrow a column of texts may become.

    Different names stay different, and a long text does not become a tower.
    """
    if natural > _LONGEST_NAME:
        return max(_NARROWEST_TEXT, natural // 4)
    names = {row[index] for row in table.rows}
    for width in range(_NARROWEST_NAME, natural):
        if len({tuple(_fit(name, width)) for name in names}) == len(names):
            return width
    return natural


def _moving_order(table: Table, natural: Sequence[int], whole: Container[int]) -> list[int]:
    """Return the columns that may move under their row: long texts, counts, names in between."""
    texts = [index for index in range(len(natural)) if index not in table.numeric]
    free = [index for index in range(1, len(natural)) if index not in whole]
    long = [index for index in free if index in texts and natural[index] > _LONGEST_NAME]
    others = [index for index in free[::-1] if index not in long]
    counts = [index for index in others if index in table.numeric]
    counts = [index for index in counts if table.columns[index] not in _KEPT]
    between = [index for index in others if index in texts[1:-1]]
    rest = [index for index in others if index not in counts and index not in between]
    return [*long, *counts, *between, *rest]


def _fit(cell: str, width: int) -> list[str]:
    if display_width(cell) <= width:
        return [cell]
    if " " not in cell and display_width(cell) <= _LONGEST_NAME:
        return [shorten(cell, width)]
    return [shorten(line, width) for line in wrap_text(cell, width)]


def _align(
    table: Table,
    inline: Sequence[int],
    widths: Sequence[int],
    cells: Sequence[Sequence[str]],
    gap: int,
) -> Iterator[str]:
    """Yield as many lines as the tallest cell has."""
    for number in range(max(map(len, cells))):
        parts = []
        for index, lines in zip(inline, cells, strict=True):
            text = lines[number] if number < len(lines) else ""
            parts.append(pad(text, widths[index], right=index in table.numeric))
        yield (_INDENT + (" " * gap).join(parts)).rstrip()


def _lines_under(
    table: Table, row: Sequence[str], moved: Mapping[int, int], width: int | None
) -> Iterator[str]:
    """Yield what moved under a row: counts and names in one line, each text in its own."""
    cells = {index: row[index] for index in moved if row[index] not in {NOTHING, "", "0"}}
    names = [index for index in cells if moved[index] <= _LONGEST_NAME]
    if names:
        text = ", ".join(f"{table.columns[index]} {cells[index]}" for index in names)
        yield from wrap_text(text, width, indent=_INDENT * 2)
    for index, cell in cells.items():
        if index not in names:
            text = f"{table.columns[index]}: {cell}"
            yield from wrap_text(text, width, indent=_INDENT * 2, hanging=_INDENT)
