"""`evalwright score`."""

from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli.printing import check_writable, give, report_options, store_option
from evalwright.cli.progress import Progress
from evalwright.cli.sandboxes import sandbox_options


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--allow-bad-tasks", is_flag=True, help="Score the valid records of a bad file.")
@sandbox_options
@click.option(
    "--concurrency", metavar="N", type=click.IntRange(min=1), help="How many samples at once."
)
@click.option("--retry-failed", is_flag=True, help="Try what could not be scored again.")
@click.option("--durable", is_flag=True, help="Survive a power cut too, at some cost in speed.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap."
)
@click.option(
    "--bins", type=click.IntRange(1, 100), default=10, show_default=True, help="Of the ECE."
)
@store_option
@report_options
def command(run: str, *, as_json: bool, markdown: Path | None, **options: Any) -> None:
    """Score the stored outputs of a run again.

    RUN is an id, the start of one, or `latest`. The task files are read as they are now: targets,
    metrics and post-process rules may have changed. No model is asked; a record whose prompt has
    changed has no stored output, and fails. The result is a new run, which names RUN as its
    parent. Exit 0, 3 if some samples failed, 130 if interrupted.
    """
    check_writable(markdown)
    progress = Progress()
    report = api.score(run, watch=progress, **options)
    give(report, as_json=as_json, markdown=markdown, interrupted=progress.interrupted)
