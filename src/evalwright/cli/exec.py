"""`evalwright exec`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli.options import json_option, sandbox_options
from evalwright.cli.output import write_result
from evalwright.report.messages import print_message
from evalwright.report.programs import program_lines
from evalwright.vocabulary import LEGAL, MAX_TIMEOUT_S


@click.command()
@click.argument("path", metavar="FILE.py")
@click.option(
    "-t",
    "--target",
    "targets",
    multiple=True,
    metavar="CODE",
    help="Python code that the program must satisfy; repeatable.",
)
@click.option("--task", metavar="FILE.jsonl", help="Take the targets from a record in this file.")
@click.option("--id", "task_id", metavar="ID", help="Id of the record that contains the targets.")
@click.option(
    "--timeout",
    "timeout_s",
    metavar="SECONDS",
    type=click.FloatRange(min=0, max=MAX_TIMEOUT_S, min_open=True),
    help="Time limit for the program and its targets. Default: the record's, or 3.",
)
@click.option(
    "--post-process",
    type=click.Choice(LEGAL["code_exec"].post_processes),
    help="Post-processing to apply to FILE.py first. Default: the record's rule, or none.",
)
@sandbox_options
@json_option
def command(path: str, *, as_json: bool, **options: Any) -> None:
    """Test one program the way `run` tests code answers.

    FILE.py is the program; `-` reads standard input. A target is Python code: an expression that
    must be true, or statements that must not raise an exception. Exits with status 0 if the program
    passes, 1 if it does not, 2 if a target is empty or does not compile, 4 if no sandbox is
    available.
    """
    fields = {name: options.pop(name) for name in api.ProgramRequest._fields if name in options}
    execution = api.execute_file(
        api.ProgramRequest(path=path, **fields),
        api.RunOptions(**options),
        tell=print_message,
    )
    write_result(execution, program_lines(execution), as_json=as_json)
    sys.exit(0 if execution.outcome == "pass" else 1)
