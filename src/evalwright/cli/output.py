"""What commands print on stdout and write to files: lines, JSON, tables, reports."""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NoReturn

import click
import msgspec

from evalwright.errors import EvalwrightError, UsageError
from evalwright.report.export import to_json
from evalwright.report.layout import lay_out, lay_out_blocks
from evalwright.report.messages import discard, print_message
from evalwright.report.tables import Block, Table, align_rows, join_lines
from evalwright.text.visible import escape_in_json, visible

if TYPE_CHECKING:
    from evalwright.report.report import Report

Row = tuple[str, ...]

_VERDICT_COLOURS = {
    **dict.fromkeys(("holds", "significant", "better"), "green"),
    **dict.fromkeys(("FAILS", "worse"), "red"),
    "undecided": "yellow",
}
_VERDICT_AT_START = re.compile(r"^(?:holds|FAILS)(?=  )")
_VERDICT_IN_ROW = re.compile(rf"(?<=  )(?:{'|'.join(_VERDICT_COLOURS)})(?=  |$)")


def format_count(n: int, noun: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def write_blocks(blocks: Iterable[Block]) -> None:
    """Print texts and tables for people, fitted to a terminal."""
    _replace_unprintable()
    has_colours = sys.stdout.isatty() and not (
        "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    )
    width = terminal_width() if sys.stdout.isatty() else None
    for block in blocks:
        verdict = None
        if has_colours:
            is_row = isinstance(block, Table) and "verdict" in block.columns
            verdict = _VERDICT_IN_ROW if is_row else _VERDICT_AT_START
        for line in map(visible, lay_out_blocks([block], width)):
            sys.stdout.write(f"{verdict.sub(_colour_verdict, line) if verdict else line}\n")
    sys.stdout.flush()


def _colour_verdict(match: re.Match[str]) -> str:
    return click.style(match[0], fg=_VERDICT_COLOURS[match[0]], bold=True)


def write_result(value: Any, blocks: Iterable[Block], *, as_json: bool) -> None:
    """Print a result as JSON, or as text for people."""
    if as_json:
        write_json(value)
    else:
        write_blocks(blocks)


def confirm_deletion(what: str) -> None:
    """Ask for confirmation on a terminal; elsewhere raise `UsageError`."""
    if not sys.stdin.isatty():
        raise UsageError(f"{what} would be deleted permanently", hint="add --yes to confirm")
    click.confirm(f"delete {what}?", abort=True, err=True)


def write_json(value: Any) -> None:
    """Print one JSON object, indented, in UTF-8 whatever the encoding of the terminal."""
    write_json_bytes([msgspec.json.format(to_json(value), indent=2) + b"\n"])


def write_json_list(values: Iterable[Any]) -> None:
    """Print a JSON list, one line per element, as the elements arrive."""

    def pieces() -> Iterable[bytes]:
        separator = b"["
        for value in values:
            yield separator + b"\n" + to_json(value)
            separator = b","
        yield b"[]\n" if separator == b"[" else b"\n]\n"

    write_json_bytes(pieces())


def write_json_bytes(pieces: Iterable[bytes]) -> None:
    """Write pieces of JSON; what acts on a terminal is escaped, which is the same JSON."""
    write_bytes(map(escape_in_json, pieces))


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Write to stdout, bypassing the encoding of the terminal."""
    sys.stdout.flush()
    out = sys.stdout.buffer
    for piece in pieces:
        out.write(piece)
    out.flush()


def print_table(columns: Row, rows: Sequence[Row], numeric: frozenset[int] = frozenset()) -> None:
    """Print a table: fitted to a terminal, aligned plain text everywhere else.

    Plain text has one line per row, however long, for `grep` and `awk`. The columns with an index
    in `numeric` are aligned right.
    """
    _replace_unprintable()
    if sys.stdout.isatty():
        _draw_table(columns, rows, numeric)
        return
    for line in align_rows([columns, *rows], numeric):
        click.echo(visible(line))


def print_list(
    values: Sequence[Any],
    columns: Row,
    rows: Iterable[Row],
    numeric: frozenset[int] = frozenset(),
    *,
    as_json: bool,
) -> None:
    """Print values as a JSON list, or their rows as a table."""
    if as_json:
        write_json_list(values)
    else:
        print_table(columns, list(rows), numeric)


def _draw_table(columns: Row, rows: Sequence[Row], numeric: frozenset[int]) -> None:
    cells = [tuple(map(join_lines, row)) for row in rows]
    table = Table("", columns, cells, numeric)
    # The first column is what one types next: it is never shortened.
    for line in lay_out(table, terminal_width(), whole={0}) if rows else ():
        click.echo(visible(line))


def terminal_width() -> int:
    """Return the number of columns of the terminal."""
    return get_terminal_size().columns


def print_report(
    report: "Report", *, as_json: bool, markdown: Path | None, keys: bool = False
) -> None:
    """Print a report, and write it as markdown if a file is given."""
    # The file first, because the reader of our pipe may leave; its error last, after the report.
    error = write_text(markdown, report.to_markdown(keys=keys)) if markdown else ""
    if as_json:
        write_json_bytes([report.to_json().encode(), b"\n"])
    else:
        from evalwright.report.to_text import print_report as print_text

        _replace_unprintable()
        print_text(report, sys.stdout, keys=keys)
        sys.stdout.flush()
    if error:
        raise EvalwrightError(error)


def exit_with_report(
    report: "Report", *, as_json: bool, markdown: Path | None, interrupted: bool
) -> NoReturn:
    """Print and write a report, and exit with the code for its status."""
    try:
        print_report(report, as_json=as_json, markdown=markdown)
    except OSError as error:
        if not interrupted:
            raise
        discard(sys.stdout)  # the terminal may be what sent the signal: it was closed
        print_message(f"evalwright: {error}")
    if interrupted and report.status == "stopped":  # otherwise the last sample landed all the same
        sys.exit(130)
    if not all(row.holds for row in report.policies):
        sys.exit(1)
    sys.exit(0 if report.status == "finished" else 3)


def check_writable(path: Path | None) -> None:
    """Raise `UsageError` before the run if the file cannot be written after it."""
    if path is None:
        return
    try:
        if not path.exists():
            path.open("xb").close()
            path.unlink()
        elif not os.access(path, os.W_OK):
            raise UsageError(f"{path}: cannot be written: permission denied")
    except OSError as error:
        raise UsageError(explain_write_error(path, error)) from error


def write_text(path: Path, text: str) -> str:
    """Write a file; return what went wrong, if anything did."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return explain_write_error(path, error)
    return ""


def explain_write_error(path: Path, error: OSError) -> str:
    """Return the message that a file cannot be written, and why."""
    return f"{path}: cannot be written: {(error.strerror or str(error)).lower()}"


def _replace_unprintable() -> None:
    """Print `?` for what the terminal cannot show, instead of failing."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
