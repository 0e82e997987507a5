"""`evalwright doctor`."""

import click

from evalwright import api
from evalwright.cli.options import json_option, store_option
from evalwright.cli.output import write_result
from evalwright.report.machine import machine_blocks


@click.command()
@store_option
@json_option
def command(*, store: str | None, as_json: bool) -> None:
    """Show what this machine supports.

    Shows how programs are isolated and why stronger isolation is not available; which local models
    can run and how to install missing parts; which API keys are set (never their values); where
    runs are stored, and whether that file is damaged. Always exits with status 0. With --json,
    `tier` is null if programs cannot be isolated.
    """
    machine = api.doctor(store)
    write_result(machine, machine_blocks(machine), as_json=as_json)
