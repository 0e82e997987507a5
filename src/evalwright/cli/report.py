"""`evalwright report`."""

from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli.options import report_options, store_option
from evalwright.cli.output import check_writable, print_report


@click.command()
@click.argument("run", metavar="[RUN]", default="latest")
@click.option("--seed", type=click.IntRange(min=0), help="Bootstrap seed. Default: the run's.")
@click.option("--bins", type=click.IntRange(1, 100), help="ECE bins. Default: the run's.")
@click.option(
    "--calibrate/--no-calibrate",
    default=None,
    help="Fit a temperature to the confidences. Default: as the run did.",
)
@store_option
@report_options
def command(
    run: str, *, store: str | None, as_json: bool, markdown: Path | None, **statistics: Any
) -> None:
    """Print the report of a run.

    RUN is an id, the start of one, or `latest`, as without it. The report is made from what is
    stored: nothing is run or scored. Exit 0, whatever it says.
    """
    check_writable(markdown)
    chosen = {name: value for name, value in statistics.items() if value is not None}
    print_report(api.load(run, store, **chosen), as_json=as_json, markdown=markdown)
