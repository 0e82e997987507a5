"""`evalwright export`."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import click

from evalwright import api
from evalwright.cli.options import store_option
from evalwright.cli.output import explain_write_error, format_count
from evalwright.errors import EvalwrightError, UsageError
from evalwright.report.export import WRITERS, Read, write_csv
from evalwright.report.messages import print_message

FORMATS = tuple(WRITERS)
LOGS = "logs"


@click.command()
@click.argument("run", metavar="[RUN]", default="latest")
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, LOGS]),
    help="Output format; `logs` writes a folder of result logs. Default: the extension of FILE, or "
    "jsonl.",
)
@click.option("--json", "as_json", is_flag=True, help="Same as --format jsonl.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write to FILE, completely or not at all. For `logs`, FILE is a folder.",
)
@click.option("--failed", is_flag=True, help="Export only failed outcomes.")
@click.option(
    "--link-logs",
    is_flag=True,
    help="With `logs`: make the exported evaluation refer to its logs so it can be run.",
)
@click.option(
    "--keep-formulas",
    is_flag=True,
    help="With `csv`: do not put a `'` before text that a spreadsheet would run as a formula.",
)
@store_option
def command(  # noqa: PLR0913 - one option each
    run: str,
    *,
    form: str | None,
    as_json: bool,
    output: Path | None,
    failed: bool,
    link_logs: bool,
    keep_formulas: bool,
    store: str | None,
) -> None:
    """Export a run's outcomes for other tools.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest` (the default).
    Each line or row is one outcome: input, output, scores, failure, usage and latency. `logs`
    writes one result log per task, for `evalwright import` and `task_result_log_path`. Memory use
    does not grow with the size of the run.
    """
    if form == LOGS and not as_json:
        _export_logs(run, output, store, link_logs=link_logs, failed=failed)
        return
    if link_logs:
        raise UsageError("`--link-logs` applies only to result logs", hint="add `--format logs`")
    form = "jsonl" if as_json else form or _form_of(output)
    write = partial(write_csv, keep_formulas=keep_formulas) if form == "csv" else WRITERS[form]
    if keep_formulas and form != "csv":
        raise UsageError("`--keep-formulas` applies only to CSV", hint="add `--format csv`")
    _export_outcomes(run, output, store, form=form, write=write, failed=failed)


def _export_logs(
    run: str, output: Path | None, store: str | None, *, link_logs: bool, failed: bool
) -> None:
    if output is None:
        raise UsageError("result logs need a folder", hint="add --output DIR")
    if failed:
        raise UsageError(
            "a result log contains all samples; use `--failed` with a different format"
        )
    done = api.export_logs(output, run, store, link_logs=link_logs)
    logs, samples = format_count(len(done.logs), "log"), format_count(done.samples, "sample")
    print_message(f"wrote {done.evaluation} and {logs} with {samples}")


def _export_outcomes(
    run: str,
    output: Path | None,
    store: str | None,
    *,
    form: str,
    write: Callable[[Read, BinaryIO], int],
    failed: bool,
) -> None:
    if output is not None and output.is_dir():
        raise UsageError(f"{output}: is a folder", hint="`--format logs` writes into one")
    run_id = api.find(run, store).id  # once: `latest` may be another one when a table is reread
    for path in api.find_changed_files(run_id, store):
        print_message(
            f"note: {path} has been changed or removed since the run; its records are not exported"
        )
    read = partial(api.export, run_id, store, failed=failed or None)
    if output is None:
        if form == "parquet":
            raise UsageError(
                "parquet cannot be written to a terminal or a pipe", hint="add --output FILE"
            )
        write(read, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with _replace_file(output) as file:
        count = write(read, file)
    print_message(f"wrote {format_count(count, 'outcome')} to {output}")


def _form_of(output: Path | None) -> str:
    """Return the format that the file extension names; JSONL if it names none."""
    ending = output.suffix.lstrip(".").lower() if output else ""
    if ending in FORMATS:
        return ending
    if ending in {"", "ndjson", "txt", "log"} or (output and output.exists()):
        return "jsonl"
    raise UsageError(f"{output}: unknown format `.{ending}`", hint=f"--format {'|'.join(FORMATS)}")


@contextmanager
def _replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` once it is complete; a device is written directly."""
    is_device = path.exists() and not path.is_file()
    target = path.resolve()
    part = path if is_device else target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    try:
        file = part.open("wb" if is_device else "xb")
    except OSError as error:
        raise UsageError(explain_write_error(path, error)) from error
    try:
        with file:
            yield file
        if not is_device:
            part.replace(target)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise EvalwrightError(explain_write_error(path, error)) from error
    finally:
        if not is_device:
            part.unlink(missing_ok=True)
