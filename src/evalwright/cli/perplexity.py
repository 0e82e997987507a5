"""`evalwright perplexity`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.output import write_bytes, write_lines
from evalwright.cli.progress import TerminalProgress


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@shared.model_options
@click.option("--field", metavar="NAME", help="Of .jsonl files: where the text is. Default: text.")
@click.option(
    "--split",
    type=click.Choice(["paragraphs", "lines"]),
    help="Of other files: one document per paragraph or line. Default: the file is one document.",
)
@click.option("--limit", metavar="N", type=shared.COUNT, help="Only the first N documents.")
@shared.concurrency_option("How many documents at once.")
@click.option(
    "--cache/--no-cache",
    default=True,
    show_default=True,
    help="Store results, and never compute them again.",
)
@shared.seed_option
@click.option("--json", "as_json", is_flag=True, help="Print all as JSON, with every document.")
def command(
    files: tuple[str, ...],
    *,
    models: tuple[str, ...],
    parameters: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Measure how well models predict a text.

    FILE is a .jsonl file with one document per line, plain or compressed, or a file of plain text.
    Perplexity, bits per byte and bits per character, each with its interval over the documents.
    MODEL must be able to weigh a text that it did not write: `local/smollm2`, `local/PATH.gguf`;
    the APIs of providers cannot. The same command again weighs only what was not weighed yet.
    Exit 0, 3 if some documents failed, 130 if interrupted.
    """
    progress = TerminalProgress()
    report = api.perplexity(
        files, models, progress=progress, parameters=shared.parse_parameters(parameters), **options
    )
    if as_json:
        write_bytes(report.json_chunks())
    else:
        write_lines(report.text_lines())
    if progress.interrupted and report.status == "stopped":
        sys.exit(130)
    sys.exit(0 if report.status == "finished" else 3)
