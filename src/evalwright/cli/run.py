"""`evalwright run`."""

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalwright import api
from evalwright.errors import EvalwrightError, UsageError
from evalwright.types import Outcome

if TYPE_CHECKING:
    from evalwright.plan.plan import Plan
    from evalwright.report.report import Report

_SECONDS_BETWEEN = 0.1


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="provider/model; repeat to compare.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    help="Only the first N records of a file.",
)
@click.option(
    "--concurrency", metavar="N", type=click.IntRange(min=1), help="How many samples at once."
)
@click.option("--allow-bad-tasks", is_flag=True, help="Run the valid records of a bad file.")
@click.option(
    "--unsafe-code-exec",
    is_flag=True,
    help="Run code_exec answers in a plain child process: no isolation from your files or network.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap."
)
@click.option(
    "--bins", type=click.IntRange(1, 100), default=10, show_default=True, help="Of the ECE."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--markdown",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to FILE as markdown, too.",
)
def command(  # noqa: PLR0913 - one parameter an option
    paths: tuple[str, ...],
    *,
    models: tuple[str, ...],
    limit: int | None,
    concurrency: int | None,
    allow_bad_tasks: bool,
    unsafe_code_exec: bool,
    seed: int,
    bins: int,
    as_json: bool,
    markdown: Path | None,
) -> None:
    """Run tasks with models and rank them.

    PATH is a JSONL file of records. MODEL is `replay/outputs.jsonl` (recorded answers) or
    `scripted/oracle`, `scripted/noisy`, `scripted/biased`, `scripted/echo` (scripts that show what
    a report looks like; they are not models). Exit 0, or 3 if some samples failed.
    """
    if markdown:
        _check_writable(markdown)
    report = api.run(
        paths,
        models,
        limit=limit,
        allow_bad_tasks=allow_bad_tasks,
        concurrency=concurrency,
        unsafe_code_exec=unsafe_code_exec,
        seed=seed,
        bins=bins,
        progress=_progress if sys.stderr.isatty() else None,
    )
    # The file first, because whoever reads our pipe may leave; its trouble last, after the report.
    trouble = _write(markdown, report) if markdown else ""
    _print(report, as_json=as_json)
    if trouble:
        raise EvalwrightError(trouble)
    sys.exit(3 if report.summary.failed else 0)


def _check_writable(path: Path) -> None:
    """Before the run: a mistyped folder must not cost a report."""
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


def _print(report: "Report", *, as_json: bool) -> None:
    if as_json:
        click.echo(report.to_json())
        return
    from evalwright.report.to_text import print_report

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # what cannot be shown is `?`, not the end
    print_report(report, sys.stdout)
    sys.stdout.flush()


def _progress(plan: "Plan") -> Callable[[Outcome], None]:
    """A count that rewrites its line, a few times a second."""
    from time import monotonic

    total, done, failed, shown = plan.total, 0, 0, 0.0

    def told(outcome: Outcome) -> None:
        nonlocal done, failed, shown
        done += 1
        failed += outcome.failure is not None
        now = monotonic()
        if now - shown > _SECONDS_BETWEEN or done == total:
            shown = now
            click.echo(f"\r{done:,} of {total:,} samples, {failed:,} failed ", nl=False, err=True)
        if done == total:
            click.echo("\r\033[K", nl=False, err=True)

    return told
