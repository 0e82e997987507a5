"""`evalwright task`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.entities import entity_group
from evalwright.cli.output import format_count, write_result

command = entity_group(
    "task",
    "The tasks of a project.",
    "They are the files in tasks/, and what run.yaml lists: nothing needs registering.",
)


@command.command("test")
@click.argument("name", metavar="[KEY|FILE]", required=False)
@click.option("-f", "--file", metavar="FILE", help="A run file, whose specification is tried.")
@click.option("-s", "--spec", "-sk", metavar="SPEC", help="The key of the specification.")
@click.option("-m", "--model", "models", multiple=True, metavar="MODEL", help="Model to query.")
@click.option("--dataset", metavar="KEY", help="On this dataset, not the one that is named.")
@shared.value_options
@shared.samples_option("samples", default=1, about="How many samples to try, from the first.")
@click.option("--id", "-id", "ids", multiple=True, metavar="ID", help="These samples instead.")
@click.option("--show-io", is_flag=True, help="Show what models got and gave, word for word.")
@shared.snippet_timeout_option
@shared.project_options
@shared.json_option
def test(  # noqa: PLR0913 - one option each
    name: str | None,
    *,
    file: str | None,
    spec: str | None,
    models: tuple[str, ...],
    dataset: str | None,
    settings: tuple[str, ...],
    samples: int,
    ids: tuple[str, ...],
    show_io: bool,
    project: str,
    env: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Try a task on a few samples, and show every step.

    Each sample's row, what was said, its scores and the rules that apply, then the metrics over
    these samples: made as in a run, and kept nowhere. A KEY is tried as run.yaml uses it, with the
    model and the values given there; a FILE with those of -m, --set and --config alone. Exit 1 if
    anything fails.
    """
    path, key = api.locate_task(name, file=file, spec=spec, project=project, env=env)
    preview = api.try_task(
        api.TaskSelection(path=path, spec=key, samples=samples, ids=ids, dataset=dataset),
        models,
        tell=lambda text: click.echo(text, err=True),
        settings=shared.parse_settings(settings),
        env=env,
        **options,
    )
    write_result(preview, preview.to_lines(bodies=show_io), as_json=as_json)
    if not as_json:
        samples_tried = format_count(len(preview.samples) // preview.tries, "sample")
        result = "all went well" if preview.ok else "not all went well: see the errors above"
        click.echo(f"{samples_tried} tried, and {result}", err=True)
    sys.exit(not preview.ok)
