"""`evalwright report`."""

from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli.options import report_options, store_option
from evalwright.cli.output import check_writable, print_report


@click.command()
@click.argument("run", metavar="[RUN]", default="latest")
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    help="Seed for the bootstrap. Default: the run's seed.",
)
@click.option(
    "--bins",
    metavar="N",
    type=click.IntRange(1, 100),
    help="Number of bins for the expected calibration error (ECE). Default: the run's setting.",
)
@click.option(
    "--calibrate/--no-calibrate",
    default=None,
    help="Fit a temperature to the confidences. Default: as in the run.",
)
@click.option(
    "--keys",
    is_flag=True,
    help="Show the keys of tasks, scorers and metrics instead of display names.",
)
@store_option
@report_options
def command(
    run: str,
    *,
    keys: bool,
    store: str | None,
    as_json: bool,
    markdown: Path | None,
    **statistics: Any,
) -> None:
    """Print a run's report.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest` (the default).
    The report is built from stored results: nothing is run or scored. Exits with status 0 if RUN
    exists.
    """
    check_writable(markdown)
    chosen = {name: value for name, value in statistics.items() if value is not None}
    report = api.load(run, store, **chosen)
    print_report(report, as_json=as_json, markdown=markdown, keys=keys)
