"""`evalwright dataset`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.entities import entity_group
from evalwright.cli.output import write_json_list, write_lines, write_result
from evalwright.cli.progress import TerminalProgress

command = entity_group(
    "dataset",
    "The datasets of a project.",
    "They are the files in datasets/, and what run.yaml lists: nothing needs registering.",
)


@command.command("test")
@click.argument("name", metavar="KEY|FILE")
@shared.samples_option("samples", default=3, about="How many rows to show.", least=0)
@click.option(
    "--show-io", is_flag=True, help="Make rows anew; show what models were asked and answered."
)
@shared.project_options
@shared.json_option
def test(name: str, *, samples: int, show_io: bool, as_json: bool, **place: Any) -> None:
    """Read a dataset to its end, and show what tasks get of it.

    How many rows there are, what each filter drops, the types in each column, and the first rows.
    Of rows that a generator makes, and that are not made yet, the first N are made, shown step by
    step, and kept nowhere. Exit 1 if it cannot be read, or a row not be made.
    """
    preview = api.try_dataset(name, samples=samples, anew=show_io, **place)
    write_result(preview, api.dataset_preview_lines(preview, bodies=show_io), as_json=as_json)
    sys.exit(not getattr(preview, "ok", True))


@command.command("generate")
@click.argument("key", metavar="KEY")
@click.option("--again", is_flag=True, help="Make the rows anew, though they are there.")
@shared.concurrency_option("How many rows at once. Default: as many as the server takes, up to 64.")
@shared.retries_option
@shared.max_cost_option()
@shared.prices_option
@shared.cache_option
@shared.snippet_timeout_option
@shared.project_options
@shared.json_option
def generate(key: str, *, again: bool, project: str, as_json: bool, **options: Any) -> None:
    """Make the rows of a dataset that names a generator.

    They are kept under .evalwright/generated/, and made once: a run makes those that it needs and
    that are not there, and this command makes them before. What they are made of is made first. If
    a row cannot be made, the others are kept, and the same command resumes it. Exit 1 then.
    """
    datasets = api.generate(
        key, project=project, again=again, progress=TerminalProgress(), **options
    )
    if as_json:
        write_json_list(datasets)
        return
    for dataset in datasets:
        click.echo(dataset.describe(), err=True)
    write_lines([datasets[-1].file])
