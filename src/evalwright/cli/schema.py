"""`evalwright schema`."""

import json

import click

from evalwright import api


@click.command()
@click.argument("kind", type=click.Choice(api.SCHEMAS))
def command(kind: str) -> None:
    """Print the JSON Schema for a document type.

    `records` describes one line of a task file. `task`, `dataset`, `generator`, `model`,
    `evaluation`, `plan`, `policy` and `run` describe a project's YAML documents. `report` describes
    the output of `evalwright run --json`; `perplexity` and `comparison`
    describe that of `evalwright perplexity --json` and `evalwright compare --json`.
    """
    click.echo(json.dumps(api.schema(kind), indent=2))
