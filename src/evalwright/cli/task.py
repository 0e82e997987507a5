"""`evalwright task`."""

import sys

import click

from evalwright import api
from evalwright.cli.entities import json_option, project_options, verbs_of
from evalwright.cli.issues import counted
from evalwright.cli.projects import settings_of, value_options
from evalwright.cli.stdout import write_json, write_lines

command = verbs_of(
    "task",
    "The tasks of a project.",
    "They are the files in tasks/, and what run.yaml lists: nothing needs registering.",
)


@command.command("test")
@click.argument("name", metavar="[KEY|FILE]", required=False)
@click.option("-f", "--file", metavar="FILE", help="A run file, whose specification is tried.")
@click.option("-s", "--spec", "-sk", metavar="SPEC", help="The key of the specification.")
@click.option("-m", "--model", "models", multiple=True, metavar="MODEL", help="Whom to ask.")
@click.option("--dataset", metavar="KEY", help="On this dataset, not the one that is named.")
@value_options
@click.option(
    "-n",
    "samples",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many samples to try, from the first.",
)
@click.option("--id", "-id", "ids", multiple=True, metavar="ID", help="These samples instead.")
@click.option("--show-io", is_flag=True, help="Show what models got and gave, word for word.")
@click.option(
    "--snippet-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="How long one call of a snippet may take.",
)
@project_options
@json_option
def test(  # noqa: PLR0913 - one option each
    name: str | None,
    *,
    file: str | None,
    spec: str | None,
    models: tuple[str, ...],
    dataset: str | None,
    settings: tuple[str, ...],
    config: str | None,
    samples: int,
    ids: tuple[str, ...],
    show_io: bool,
    snippet_timeout: float,
    project: str,
    env: tuple[str, ...],
    as_json: bool,
) -> None:
    """Try a task on a few samples, and show every step.

    Each sample's row, what was said, its scores and the rules that apply, then the metrics over
    these samples: made as in a run, and kept nowhere. A KEY is tried as run.yaml uses it, with the
    model and the values given there; a FILE with those of -m, --set and --config alone. Exit 1 if
    anything fails.
    """
    path, chosen = api.wanted_of(name, file=file, spec=spec, project=project, env=env)
    trial = api.try_task(
        api.Wanted(path=path, spec=chosen, samples=samples, ids=ids, dataset=dataset),
        models,
        tell=lambda text: click.echo(text, err=True),
        settings=settings_of(settings),
        config=config,
        snippet_timeout=snippet_timeout,
        env=env,
    )
    if as_json:
        write_json(trial)
    else:
        from evalwright.report.trial import task_lines

        write_lines(task_lines(trial, bodies=show_io))
        click.echo(_said(len(trial.samples) // trial.tries, ok=trial.ok), err=True)
    sys.exit(not trial.ok)


def _said(tried: int, *, ok: bool) -> str:
    if ok:
        return f"{counted(tried, 'sample')} tried, and all went well"
    return f"{counted(tried, 'sample')} tried, and not all went well: see the errors above"
