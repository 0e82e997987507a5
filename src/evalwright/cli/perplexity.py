"""`evalwright perplexity`."""

import sys
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.output import write_blocks, write_json_bytes
from evalwright.session.terminal_progress import TerminalProgress


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@shared.model_options
@click.option(
    "--field", metavar="NAME", help="Field of a .jsonl file that contains the text. Default: text."
)
@click.option(
    "--split",
    type=click.Choice(["paragraphs", "lines"]),
    help="How to split other files into documents. Default: one document per file.",
)
@click.option("--limit", metavar="N", type=shared.COUNT, help="Use only the first N documents.")
@shared.concurrency_option("Number of documents to process at once.")
@click.option(
    "--cache/--no-cache", default=True, show_default=True, help="Store results and reuse them."
)
@shared.seed_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as JSON, including every document."
)
def command(
    files: tuple[str, ...],
    *,
    models: tuple[str, ...],
    parameters: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Measure how well models predict text.

    FILE is a .jsonl file with one document per line, plain or compressed, or a plain text file.
    Reports perplexity, bits per byte and bits per character, each with a confidence interval over
    the documents. MODEL must be able to compute the likelihood of given text, as `local/smollm2`
    and `local/PATH.gguf` can. Provider APIs cannot. Running the same command again computes only
    the missing results. Exits with status 0 on success, 3 if some documents failed, 130 if
    interrupted.
    """
    progress = TerminalProgress()
    report = api.perplexity(
        files, models, progress=progress, parameters=shared.parse_parameters(parameters), **options
    )
    if as_json:
        write_json_bytes(report.json_chunks())
    else:
        write_blocks(report.text_blocks())
    if progress.interrupted and report.status == "stopped":
        sys.exit(130)
    sys.exit(0 if report.status == "finished" else 3)
