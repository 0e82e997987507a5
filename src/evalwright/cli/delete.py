"""`evalwright delete`."""

import click

from evalwright import api
from evalwright.cli.options import store_option
from evalwright.cli.output import confirm_deletion, format_count, write_json
from evalwright.report.messages import print_message


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the run id and the number of deleted outcomes as JSON.",
)
def command(run: str, *, yes: bool, store: str | None, as_json: bool) -> None:
    """Delete a run and its outcomes.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest`. On a terminal,
    asks for confirmation first; otherwise, --yes is required. Runs created by scoring RUN again are
    kept. `evalwright gc` frees the disk space.
    """
    if not yes:
        listed = api.show_run(run, store)
        run = listed.id  # `latest` may be another run after the question
        about = f"{', '.join(listed.tasks)} with {', '.join(listed.models)}, {listed.status}"
        confirm_deletion(f"{run} ({about}) and {format_count(listed.done, 'outcome')}")
    run_id, outcomes = api.delete(run, store)
    if as_json:
        write_json({"run_id": run_id, "outcomes": outcomes})
    else:
        print_message(f"deleted {run_id} and {format_count(outcomes, 'outcome')}")
