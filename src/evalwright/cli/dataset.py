"""`evalwright dataset`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli.entities import json_option, project_options, verbs_of
from evalwright.cli.stdout import write_json, write_json_list, write_lines

command = verbs_of(
    "dataset",
    "The datasets of a project.",
    "They are the files in datasets/, and what run.yaml lists: nothing needs registering.",
)

_MONEY = click.FloatRange(min=0, min_open=True)


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
@click.option(
    "--show-io", is_flag=True, help="Make rows anew; show what models were asked and answered."
)
@project_options
@json_option
def test(
    name: str, *, samples: int, show_io: bool, project: str, env: tuple[str, ...], as_json: bool
) -> None:
    """Read a dataset to its end, and show what tasks get of it.

    How many rows there are, what each filter drops, the types in each column, and the first rows.
    Of rows that a generator makes, and that are not made yet, the first N are made, shown step by
    step, and kept nowhere. Exit 1 if it cannot be read, or a row not be made.
    """
    trial = api.try_dataset(name, samples=samples, anew=show_io, project=project, env=env)
    if as_json:
        write_json(trial)
    else:
        from evalwright.report.generated import trial_lines

        write_lines(trial_lines(trial, bodies=show_io))
    sys.exit(not getattr(trial, "ok", True))


@command.command("generate")
@click.argument("key", metavar="KEY")
@click.option("--again", is_flag=True, help="Make the rows anew, though they are there.")
@click.option(
    "--concurrency",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many rows at once. Default: as many as the server takes, up to 64.",
)
@click.option(
    "--retries",
    metavar="N",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="How often a call is tried again when that can help.",
)
@click.option("--max-cost", metavar="DOLLARS", type=_MONEY, help="Stop when this is spent.")
@click.option(
    "--prices", metavar="FILE", help="TOML: prices of models, in dollars a million tokens."
)
@click.option("--cache", is_flag=True, help="Keep replies, and answer equal requests from them.")
@click.option(
    "--snippet-timeout",
    metavar="SECONDS",
    type=_MONEY,
    default=60.0,
    show_default=True,
    help="How long one call of a snippet may take.",
)
@project_options
@json_option
def generate(key: str, *, again: bool, project: str, as_json: bool, **options: Any) -> None:
    """Make the rows of a dataset that names a generator.

    They are kept under .evalwright/generated/, and made once: a run makes those that it needs and
    that are not there, and this command makes them before. What they are made of is made first. If
    a row cannot be made, the others are kept, and the same command goes on. Exit 1 then.
    """
    from evalwright.cli.progress import Progress

    done = api.generate(key, project=project, again=again, watch=Progress(), **options)
    if as_json:
        write_json_list(done)
        return
    from evalwright.report.generated import generated_line

    for one in done:
        click.echo(generated_line(one), err=True)
    write_lines([done[-1].file])
