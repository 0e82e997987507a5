"""`evalwright eval`."""

from typing import Any

import click

from evalwright import api
from evalwright.cli import run
from evalwright.cli.entities import entity_group

command = entity_group(
    "evaluation",
    "The evaluations of a project.",
    "They are the files in evaluations/, and the one in run.yaml.",
)
_OURS = {"paths", "files", "evaluation", "config"}
"""Options of `run` that are said otherwise here."""


@click.pass_context
def _run(context: click.Context, /, key: str, project: str, **options: Any) -> None:
    shown = api.show_entity("evaluation", key, project, env=options["env"])
    context.invoke(run.command, paths=(shown.file,), files=(), evaluation=key, **options)


command.add_command(
    click.Command(
        "run",
        callback=_run,
        params=[
            click.Argument(["key"], metavar="KEY"),
            click.Option(
                ["-c", "--config"], metavar="FILE", help="YAML with `config` and `run_config`."
            ),
            click.Option(
                ["--project"],
                metavar="DIR",
                default=".",
                help="The folder of the project. Default: the current one.",
            ),
            *(one for one in run.command.params if one.name not in _OURS),
        ],
        help="Run one evaluation of the project.\n\nThe same as `evalwright run` with its file and "
        "--evaluation KEY; the options are those of `run`.",
    )
)
