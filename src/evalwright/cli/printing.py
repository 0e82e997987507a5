"""What commands that end in a report share: print it, write it, and the code to exit with."""

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalwright.errors import EvalwrightError, UsageError

if TYPE_CHECKING:
    from evalwright.report.report import Report


def report_options(function: Any) -> Any:
    """`--json` and `--markdown FILE`."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
    markdown = click.option(
        "--markdown",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write the report to FILE as markdown, too.",
    )
    return as_json(markdown(function))


def store_option(function: Any) -> Any:
    """`--store`."""
    return click.option(
        "--store",
        metavar="FILE",
        help="Where runs are kept. Default: EVALWRIGHT_STORE, or .evalwright/runs.db here.",
    )(function)


def give(report: "Report", *, as_json: bool, markdown: Path | None, interrupted: bool) -> None:
    """Print, write, exit."""
    present(report, as_json=as_json, markdown=markdown)
    if interrupted and report.status == "stopped":  # else the last sample has landed all the same
        sys.exit(130)
    if not all(row.holds for row in report.policies):
        sys.exit(1)
    sys.exit(0 if report.status == "finished" else 3)


def present(report: "Report", *, as_json: bool, markdown: Path | None) -> None:
    """Print and write."""
    # The file first, because whoever reads our pipe may leave; its trouble last, after the report.
    trouble = _write(markdown, report) if markdown else ""
    show(report, as_json=as_json)
    if trouble:
        raise EvalwrightError(trouble)


def show(report: "Report", *, as_json: bool) -> None:
    """On stdout."""
    if as_json:
        click.echo(report.to_json())
        return
    from evalwright.report.to_text import print_report

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # what cannot be shown is `?`, not the end
    print_report(report, sys.stdout)
    sys.stdout.flush()


def check_writable(path: Path | None) -> None:
    """Before the run: a mistyped folder must not cost a report."""
    if path is None:
        return
    try:
        if not path.exists():
            path.open("xb").close()
            path.unlink()
        elif not os.access(path, os.W_OK):
            raise UsageError(f"{path}: cannot be written: permission denied")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {_why(error)}") from error


def _write(path: Path, report: "Report") -> str:
    """What went wrong, if anything did."""
    try:
        path.write_text(report.to_markdown(), encoding="utf-8")
    except OSError as error:
        return f"{path}: cannot be written: {_why(error)}"
    return ""


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
