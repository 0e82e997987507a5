"""`evalwright gc`."""

import click

from evalwright import api
from evalwright.cli.options import store_option
from evalwright.cli.output import write_json
from evalwright.report.messages import print_message


@click.command()
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the number of freed bytes as JSON.")
def command(*, store: str | None, as_json: bool) -> None:
    """Free the disk space used by deleted runs.

    Runs that `evalwright list` shows are not changed.
    """
    freed = api.collect_garbage(store)
    if as_json:
        write_json({"bytes": freed})
    else:
        print_message(f"freed {freed:,} bytes")
