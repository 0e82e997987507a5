"""A table on stdout: drawn by rich on a terminal, aligned plain text for everything else.

Plain text is a line a row, however long, so that `grep` and `awk` can be used on it.
"""

import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

Row = tuple[str, ...]


def print_table(columns: Row, rows: Sequence[Row], numeric: frozenset[int] = frozenset()) -> None:
    """Print it; the columns of `numeric` align right."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # what cannot be shown is `?`, not the end
    if sys.stdout.isatty():
        _draw(columns, rows, numeric)
        return
    every = [columns, *rows]
    widths = [max(len(row[index]) for row in every) for index in range(len(columns))]
    for row in every:
        cells = (
            f"{cell:>{width}}" if index in numeric else f"{cell:<{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        click.echo("  ".join(cells).rstrip())


def _draw(columns: Row, rows: Sequence[Row], numeric: frozenset[int]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for index, name in enumerate(columns):
        right = index in numeric
        # The first column is what one types next: it is never folded.
        table.add_column(
            name, justify="right" if right else "left", no_wrap=right or not index, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)
