"""`evalwright task`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.entities import entity_group
from evalwright.cli.output import format_count, write_result
from evalwright.report.messages import print_message

command = entity_group(
    "task",
    "Manage a project's tasks.",
    "Tasks are the files in tasks/ and those listed in run.yaml.",
)


@command.command("test")
@click.argument("name", metavar="[KEY|FILE]", required=False)
@click.option("-f", "--file", metavar="FILE", help="Run file that contains the task specification.")
@click.option("-s", "--spec", "-sk", metavar="SPEC", help="Key of the task specification.")
@click.option(
    "-m", "--model", "--model-key", "models", multiple=True, metavar="MODEL", help="Model to query."
)
@click.option(
    "--dataset", "--dataset-key", metavar="KEY", help="Use this dataset instead of the task's own."
)
@shared.value_options
@shared.samples_option(
    "samples", default=1, about="Number of samples to try, starting with the first."
)
@click.option(
    "--id",
    "-id",
    "ids",
    multiple=True,
    metavar="ID",
    help="Try the sample with this id; repeatable.",
)
@click.option("--show-io", is_flag=True, help="Show the full model inputs and outputs.")
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

    Shows each sample's row, conversation, scores and the rules that apply to it, then the metrics
    over these samples. Everything is computed as in a run, but nothing is stored. A KEY is tried
    with the model and values that run.yaml specifies; a FILE is tried only with those from -m,
    --set and --config. Exits with status 1 if anything fails.
    """
    path, key = api.locate_task(name, file=file, spec=spec, project=project, env=env)
    preview = api.try_task(
        api.TaskSelection(path=path, spec=key, samples=samples, ids=ids, dataset=dataset),
        models,
        tell=print_message,
        settings=shared.parse_settings(settings),
        env=env,
        **options,
    )
    write_result(preview, preview.to_lines(bodies=show_io), as_json=as_json)
    if not as_json:
        samples_tried = format_count(len(preview.samples) // preview.tries, "sample")
        result = "no errors" if preview.ok else "errors occurred; see above"
        print_message(f"{samples_tried} tried: {result}")
    sys.exit(not preview.ok)
