"""`evalwright eval`."""

from typing import Any

import click

from evalwright import api
from evalwright.cli import run
from evalwright.cli.entities import entity_group
from evalwright.cli.options import project_option

command = entity_group(
    "evaluation",
    "The evaluations of a project.",
    "They are the files in evaluations/, and the one in run.yaml.",
)


@command.command("run")
@click.argument("key", metavar="KEY")
@click.option("-c", "--config", metavar="FILE", help="YAML with `config` and `run_config`.")
@project_option
@click.pass_context
def _run(context: click.Context, /, key: str, project: str, **options: Any) -> None:
    """Run one evaluation of the project.

    The same as `evalwright run` with its file and --evaluation KEY; the options are those of `run`.
    """
    file = api.show_entity("evaluation", key, project, env=options["env"]).file
    context.invoke(run.command, paths=(file,), files=(), evaluation=key, **options)


_OWN_OPTIONS = {"paths", "files", "evaluation", "config"}
_run.params += [param for param in run.command.params if param.name not in _OWN_OPTIONS]
