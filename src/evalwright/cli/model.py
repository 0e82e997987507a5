"""`evalwright model`."""

import sys
from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli.entities import entity_group
from evalwright.cli.options import json_option, project_options
from evalwright.cli.output import write_result
from evalwright.errors import Unreadable
from evalwright.report.messages import print_message

command = entity_group(
    "model",
    "Manage a project's models.",
    "Models are the files in models/ and those listed in run.yaml. `evalwright list models` lists "
    "the providers; their models need no file.",
)


@command.command("test")
@click.argument("name", metavar="KEY|FILE")
@click.option(
    "--input",
    "--model-input",
    "given",
    metavar="FILE",
    help="File with the input: text, or JSON in the format that the model's adapter accepts.",
)
@project_options
@json_option
def test(name: str, *, given: str | None, as_json: bool, **place: Any) -> None:
    """Query a model once and show every step.

    Shows the connection, the request, the response and the output; secrets are masked. A failed
    query is not retried. KEY may also be PROVIDER/MODEL. Exits with status 1 if the query fails.
    """
    text = _read(given) if given else None
    trial = api.try_model(name, given=text, **place)
    write_result(trial, trial.to_lines(), as_json=as_json)
    if not as_json:
        result = "answered" if trial.ok else "returned no usable answer"
        print_message(f"{trial.key} {result}")
    sys.exit(not trial.ok)


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise Unreadable(f"{file}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{file}: expected UTF-8") from error
