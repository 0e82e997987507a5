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
    """Say what this machine can do.

    How programs are held here, and for each way that is not to be had, why; what there is to run
    models with on this machine, and what to type for what is missing; which keys are set, never
    what they are; where runs are kept. Exit 0 whatever it finds; with --json, `tier` is null where
    nothing isolates.
    """
    machine = api.doctor(store)
    write_result(machine, machine_lines(machine), as_json=as_json)
