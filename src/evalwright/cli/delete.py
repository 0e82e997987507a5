"""`evalwright delete`."""

import sys

import click

from evalwright import api
from evalwright.cli.options import store_option
from evalwright.cli.output import format_count, write_json
from evalwright.errors import UsageError


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print what was deleted as JSON.")
def command(run: str, *, yes: bool, store: str | None, as_json: bool) -> None:
    """Forget a run and its outcomes.

    RUN is an id, the start of one, or `latest`. On a terminal you are asked first; elsewhere --yes
    is needed. Runs that were scored from it stay. `evalwright gc` gives the space back.
    """
    if not yes:
        run = _confirmed(run, store)
    run_id, outcomes = api.delete(run, store)
    if as_json:
        write_json({"run_id": run_id, "outcomes": outcomes})
    else:
        click.echo(f"deleted {run_id} and {format_count(outcomes, 'outcome')}", err=True)


def _confirmed(run: str, store: str | None) -> str:
    """The id of the run that was looked at; `latest` may be another one by now."""
    found = api.show_run(run, store)
    if not sys.stdin.isatty():
        raise UsageError(
            f"{found.id} and {format_count(found.done, 'outcome')} would be gone for good",
            hint="add --yes if you mean it",
        )
    about = f"{', '.join(found.tasks)} with {', '.join(found.models)}, {found.status}"
    question = f"delete {found.id} ({about}) and {format_count(found.done, 'outcome')}?"
    click.confirm(question, abort=True, err=True)
    return found.id
