"""`evalwright import`."""

from pathlib import Path

import click

from evalwright import api
from evalwright.cli.options import report_options, store_option
from evalwright.cli.output import check_writable, print_report
from evalwright.cli.progress import TerminalProgress


@click.command("import")
@click.argument("path", metavar="PATH")
@store_option
@report_options
def command(path: str, *, store: str | None, as_json: bool, markdown: Path | None) -> None:
    """Import results from other tools as a run.

    PATH is a result log (JSON) or a folder of logs as `evalwright export --format logs` writes it.
    Samples, scores and metrics are stored as a run; nothing is queried, scored or computed again.
    Exit 0, or 1 if a log is damaged, in which case nothing is imported.
    """
    check_writable(markdown)
    report = api.import_results(path, store, progress=TerminalProgress())
    print_report(report, as_json=as_json, markdown=markdown)
