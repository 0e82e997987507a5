"""`evalwright schema`."""

import json

import click

from evalwright import api


@click.command()
@click.argument("kind", type=click.Choice(api.SCHEMAS))
def command(kind: str) -> None:
    """Print the JSON Schema of a document.

    `records` is a line of a task file; `task`, `dataset`, `generator`, `model`, `evaluation`,
    `policy` and `run` are the YAML documents of a project, for an editor; `report` is what
    `evalwright run --json` prints, `perplexity` what `evalwright perplexity --json` does.
    """
    click.echo(json.dumps(api.schema(kind), indent=2))
