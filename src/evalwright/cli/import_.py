"""`evalwright import`."""

from pathlib import Path

import click

from evalwright import api
from evalwright.cli.options import report_options, store_option
from evalwright.cli.output import check_writable, print_report
from evalwright.session.terminal_progress import TerminalProgress


@click.command("import")
@click.argument("path", metavar="PATH")
@store_option
@report_options
def command(path: str, *, store: str | None, as_json: bool, markdown: Path | None) -> None:
    """Import results from other tools as a run.

    PATH is a result log (JSON) or a folder of logs in the format that `evalwright export --format
    logs` writes. Samples, scores and metrics are stored as a run; nothing is queried, scored or
    computed again. Exits with status 0 on success. If a log is damaged, nothing is imported and the
    exit status is 1.
    """
    check_writable(markdown)
    report = api.import_results(path, store, progress=TerminalProgress())
    print_report(report, as_json=as_json, markdown=markdown)
