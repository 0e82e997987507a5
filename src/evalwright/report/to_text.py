"""A report for the terminal. Plain text when nobody is watching.

No number and no name is ever cut: a header wraps to the width of its numbers, names fold, and a
table that still does not fit is wider than the terminal.
"""

from collections.abc import Iterator
from io import StringIO
from textwrap import wrap
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from evalwright.report.display_names import show_display_names
from evalwright.report.report import Report
from evalwright.report.tables import Table, count_noun
from evalwright.report.to_tables import planned_samples, remarks, tables

_WIDTH_WITHOUT_A_TERMINAL = 200
_HEADER_UNWRAPPED = 13
_NARROWEST_TEXT = 12


def print_report(report: Report, file: IO[str], *, keys: bool = False) -> None:
    """Tables first, then what a reader must know about them; display names, or keys."""
    report = report if keys else show_display_names(report)
    console = Console(file=file, highlight=False)
    if console.is_terminal:
        _print(report, console)
        return
    plain = StringIO()
    _print(report, Console(file=plain, highlight=False, width=_WIDTH_WITHOUT_A_TERMINAL))
    file.writelines(f"{line.rstrip()}\n" for line in plain.getvalue().splitlines())


def _print(report: Report, console: Console) -> None:
    for table in tables(report):
        console.print(Text(table.title, style="bold"), soft_wrap=True)
        console.print(_render(table, console.width), crop=False, no_wrap=True)
        if table.note:
            console.print(Text(f" {table.note}\n", style="dim"), soft_wrap=True)
        if table.below:
            console.print(Text("\n".join((*table.below, ""))), soft_wrap=True)
    for remark in remarks(report):
        console.print(Text(f"note: {remark}", style="yellow"), soft_wrap=True)
    for pointer in _pointers(report):
        console.print(Text(pointer), soft_wrap=True)
    console.print(Text(_last_line(report), style="bold"), soft_wrap=True)


def _render(table: Table, available: int) -> RichTable:
    rich = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    narrowest = 1
    for index, name in enumerate(table.columns):
        longest = max(len(row[index]) for row in table.rows)
        if index in table.numeric:
            header = wrap(name, max(longest, _HEADER_UNWRAPPED), break_long_words=False)
            width = max([longest, *(len(line) for line in header)])
            rich.add_column(Text("\n".join(header)), justify="right", width=width)
        else:
            width = min(max(longest, len(name)), _NARROWEST_TEXT)
            rich.add_column(Text(name), overflow="fold", min_width=width)
        narrowest += width + 2  # a space after it, and one between
    for row in table.rows:
        rich.add_row(*(Text(cell) for cell in row))
    if available < narrowest:
        rich.width = narrowest
    return rich


def _pointers(report: Report) -> Iterator[str]:
    """Say how to look at wrong answers and failures."""
    command = f"evalwright show {report.name or report.run_id}"
    if report.summary.wrong:
        yield f"see wrong answers: `{command} --wrong`"
    if report.summary.failed:
        yield f"see failed samples: `{command} --failed`"


def _last_line(report: Report) -> str:
    summary = report.summary
    planned = planned_samples(report)
    parts = [f"{summary.completed} of {count_noun(planned, 'sample')} completed"]
    if not planned:
        parts = [f"{count_noun(len(report.tasks), 'task')} without samples"]
    if summary.trials:
        parts.append(count_noun(summary.trials, "trial"))
    if summary.failed:
        parts.append(f"{summary.failed} failed")
    bad_records = len(report.left_out)
    if bad_records:
        parts.append(f"{count_noun(bad_records, 'bad record')} left out")
    if summary.excluded > bad_records:
        parts.append(f"{count_noun(summary.excluded - bad_records, 'sample')} excluded by rules")
    parts.append(f"{summary.wall_seconds:.1f} s")
    name = f" ({report.name})" if report.name else ""
    return f"{report.run_id}{name}: {', '.join(parts)}"
