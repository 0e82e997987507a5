"""`evalwright dataset`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.entities import entity_group
from evalwright.cli.output import write_blocks, write_json_list, write_result
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
