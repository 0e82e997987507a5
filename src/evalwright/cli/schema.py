"""`evalwright schema`."""

import json

import click

from evalwright import api


@click.command()
@click.argument("kind", type=click.Choice(["records", "report"]))
def command(kind: str) -> None:
    """Print the JSON Schema of a document.

    `records` is a line of a task file; `report` is what `evalwright run --json` prints.
    """
    click.echo(json.dumps(api.schema(kind), indent=2))
