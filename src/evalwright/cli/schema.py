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
    the output of `evalwright run --json`; `check`, `comparison`, `gate` and `perplexity` describe
    that of `dataset check --json`, `compare --json`, `gate --json` and `perplexity --json`.
    """
    click.echo(json.dumps(api.schema(kind), indent=2))
