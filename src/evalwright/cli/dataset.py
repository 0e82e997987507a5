"""`evalwright dataset`."""

import sys
from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.entities import entity_group
from evalwright.cli.output import (
    check_writable,
    write_blocks,
    write_json_list,
    write_result,
    write_text,
)
from evalwright.errors import EvalwrightError
from evalwright.report.messages import print_message
from evalwright.session.terminal_progress import TerminalProgress

command = entity_group(
    "dataset",
    "Manage a project's datasets.",
    "Datasets are the files in datasets/ and those listed in run.yaml.",
)


@command.command("test")
@click.argument("name", metavar="KEY|FILE")
@shared.samples_option("samples", default=3, about="Number of rows to show.", least=0)
@click.option(
    "--show-io", is_flag=True, help="Generate new rows, and show model inputs and outputs."
)
@shared.project_options
@shared.json_option
def test(name: str, *, samples: int, show_io: bool, as_json: bool, **place: Any) -> None:
    """Read a whole dataset and show what tasks receive from it.

    Shows the number of rows, the rows that each filter drops, the types in each column, and the
    first rows. If the rows have not been generated yet, the first N are generated and shown step by
    step, but not stored. Exits with status 1 if the dataset cannot be read or a row cannot be
    generated.
    """
    preview = api.try_dataset(name, samples=samples, anew=show_io, **place)
    write_result(preview, api.dataset_preview_lines(preview, bodies=show_io), as_json=as_json)
    sys.exit(not getattr(preview, "ok", True))


@command.command("check")
@click.argument("data", metavar="FILE|KEY")
@click.option(
    "--against", metavar="FILE|KEY", help="Find rows whose texts are also in this dataset."
)
@click.option(
    "--id",
    "ids",
    multiple=True,
    metavar="COLUMN",
    help="Column that identifies a row; repeatable. Default: sample_id, task_id, id, uuid.",
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="COLUMN",
    help="Column to compare for repeated texts; repeatable. Default: columns with several words.",
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CHECK,...",
    help="Exit with status 1 if one of these checks finds something; `any` for all.",
)
@shared.markdown_option("report")
@shared.project_options
@shared.json_option
def check(
    data: str, *, fail_on: tuple[str, ...], markdown: Path | None, as_json: bool, **options: Any
) -> None:
    """Report what a dataset contains and what may be wrong with it.

    FILE is a .csv, .jsonl, .json or .parquet file, KEY a dataset of the project. Shows the values,
    types and languages of each column, and problems with examples: missing values, mixed types,
    outliers, duplicates, unbalanced labels, wrong encodings, personal data, and rows that are also
    in another dataset. Nothing is changed. Exits with status 0 unless --fail-on names a check that
    found something.
    """
    checks = api.parse_checks(fail_on)
    check_writable(markdown)
    report = api.check_dataset(data, **options)
    error = write_text(markdown, report.to_markdown()) if markdown else ""
    write_result(report, report.text_blocks(), as_json=as_json)
    if error:
        raise EvalwrightError(error)
    sys.exit(bool(report.find(*checks)))


@command.command("generate")
@click.argument("key", metavar="KEY")
@click.option("--again", is_flag=True, help="Generate the rows again even if they exist.")
@shared.concurrency_option(
    "Number of rows to generate at once. Default: as many as the server accepts, up to 64."
)
@shared.retries_option
@shared.max_cost_option()
@shared.prices_option
@shared.cache_option
@shared.snippet_timeout_option
@shared.project_options
@shared.json_option
def generate(key: str, *, again: bool, project: str, as_json: bool, **options: Any) -> None:
    """Generate the rows of a dataset that names a generator.

    Rows are generated once and stored under .evalwright/generated/. A run generates any missing
    rows that it needs. Datasets that these rows depend on are generated first. If a row fails, the
    others are kept and the exit status is 1; running the same command again resumes.
    """
    datasets = api.generate(
        key, project=project, again=again, progress=TerminalProgress(), **options
    )
    if as_json:
        write_json_list(datasets)
        return
    for dataset in datasets:
        print_message(dataset.describe())
    write_blocks([datasets[-1].file])
