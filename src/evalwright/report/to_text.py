"""A report for the terminal. Plain text when nobody is watching.

On a terminal tables and notes fit its width (see `layout`). Elsewhere a row is one line, and so is
a note. Colour repeats what a word says: `holds` is green, `FAILS` is red.
"""

from collections.abc import Iterator
from typing import IO

from rich.console import Console
from rich.text import Text

from evalwright.report.display_names import show_display_names
from evalwright.report.layout import lay_out, wrap_text
from evalwright.report.report import Report
from evalwright.report.tables import Table, count_noun
from evalwright.report.to_tables import planned_samples, remarks, tables
from evalwright.text.visible import visible

_GOOD = r"(?<=  )(holds|significant)(?=  |$)"
_BAD = r"(?<=  )FAILS(?=  |$)"


def print_report(report: Report, file: IO[str], *, keys: bool = False) -> None:
    """Tables first, then what a reader must know about them; display names, or keys."""
    report = report if keys else show_display_names(report)
    console = Console(file=file, highlight=False)
    if console.is_terminal:
        _print(report, console)
    else:
        file.writelines(f"{text.plain}\n" for text in _lines(report, None))


def _print(report: Report, console: Console) -> None:
    for text in _lines(report, console.width):
        console.print(text, soft_wrap=True)


def _lines(report: Report, width: int | None) -> Iterator[Text]:
    for table in tables(report):
        yield from _table_lines(table, width)
    for remark in remarks(report):
        for line in wrap_text(f"note: {remark}", width, hanging="      "):
            yield _make_text(line, style="yellow")
    for pointer in _pointers(report):
        yield from map(_make_text, wrap_text(pointer, width, hanging="  "))
    for line in wrap_text(_last_line(report), width, hanging="  "):
        yield _make_text(line, style="bold red" if report.summary.failed else "bold")


def _table_lines(table: Table, width: int | None) -> Iterator[Text]:
    for line in wrap_text(table.title, width):
        yield _make_text(line, style="bold")
    for line in lay_out(table, width):
        text = _make_text(line)
        if "verdict" in table.columns:
            text.highlight_regex(_GOOD, "green")
            text.highlight_regex(_BAD, "bold red")
        yield text
    for note in table.note.splitlines():
        for line in wrap_text(note.strip(), width, indent=" "):
            yield _make_text(line, style="dim")
    yield Text("")
    if table.below:
        yield from map(_make_text, (*table.below, ""))


def _make_text(line: str, style: str = "") -> Text:
    return Text(visible(line), style=style)


def _pointers(report: Report) -> Iterator[str]:
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
    noun = "bad row" if summary.excluded_rows else "invalid record"
    invalid = summary.excluded_rows or len(report.left_out)
    if invalid:
        parts.append(f"{count_noun(invalid, noun)} excluded")
    if summary.excluded > invalid:
        parts.append(f"{count_noun(summary.excluded - invalid, 'sample')} excluded by rules")
    parts.append(f"{summary.wall_seconds:.1f} s")
    name = f" ({report.name})" if report.name else ""
    return f"{report.run_id}{name}: {', '.join(parts)}"
