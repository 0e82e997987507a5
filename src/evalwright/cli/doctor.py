"""`evalwright doctor`."""

import click

from evalwright import api
from evalwright.cli.options import json_option, store_option
from evalwright.cli.output import write_result
from evalwright.report.machine import machine_lines


@click.command()
@store_option
@json_option
def command(*, store: str | None, as_json: bool) -> None:
    """Show what this machine can do.

    How programs are isolated here and, for each way that is not available, why; what can run models
    on this machine, and how to install what is missing; which keys are set, never their values;
    where runs are stored. Exit 0 in any case; with --json, `tier` is null where nothing isolates.
    """
    machine = api.doctor(store)
    write_result(machine, machine_lines(machine), as_json=as_json)
