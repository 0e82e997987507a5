"""`evalwright eval`."""

from typing import Any

import click

from evalwright import api
from evalwright.cli import run
from evalwright.cli.entities import entity_group
from evalwright.cli.options import SectionedCommand, project_option

command = entity_group(
    "evaluation",
    "Manage a project's evaluations.",
    "Evaluations are the files in evaluations/ and the one in run.yaml.",
)


@command.command("run", cls=SectionedCommand, sections=run.SECTIONS)
@click.argument("key", metavar="KEY")
@click.option("-c", "--config", metavar="FILE", help="YAML file with `config` and `run_config`.")
@project_option
@click.pass_context
def _run(context: click.Context, /, key: str, project: str, **options: Any) -> None:
    """Run one evaluation in the project.

    This command is the same as `evalwright run FILE --evaluation KEY`, with the same options.
    """
    file = api.show_entity("evaluation", key, project, env=options["env"]).file
    context.invoke(run.command, paths=(file,), files=(), evaluation=key, **options)


_OWN_OPTIONS = {"paths", "files", "evaluation", "config"}
_run.params += [param for param in run.command.params if param.name not in _OWN_OPTIONS]
