"""`evalwright dataset`."""

import click

from evalwright import api
from evalwright.cli.entities import json_option, project_options, verbs_of
from evalwright.cli.stdout import write_json, write_lines

command = verbs_of(
    "dataset",
    "The datasets of a project.",
    "They are the files in datasets/, and what run.yaml lists: nothing needs registering.",
)


@command.command("test")
@click.argument("name", metavar="KEY|FILE")
@click.option(
    "-n",
    "samples",
    metavar="N",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How many rows to show.",
)
@project_options
@json_option
def test(name: str, *, samples: int, project: str, env: tuple[str, ...], as_json: bool) -> None:
    """Read a dataset to its end, and show what tasks get of it.

    How many rows there are, what each filter drops, the types in each column, and the first rows.
    Exit 1 if it cannot be read.
    """
    trial = api.try_dataset(name, samples=samples, project=project, env=env)
    if as_json:
        write_json(trial)
        return
    from evalwright.report.trial import dataset_lines

    write_lines(dataset_lines(trial))
