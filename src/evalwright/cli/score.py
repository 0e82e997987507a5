"""`evalwright score`."""

from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli.printing import check_writable, give, report_options, store_option
from evalwright.cli.progress import Progress
from evalwright.cli.projects import env_option
from evalwright.cli.sandboxes import sandbox_options

_MONEY = click.FloatRange(min=0, min_open=True)


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--allow-bad-tasks", is_flag=True, help="Score the valid records of a bad file.")
@sandbox_options
@env_option
@click.option("--no-snippets", is_flag=True, help="Refuse a project that brings its own Python.")
@click.option(
    "--concurrency", metavar="N", type=click.IntRange(min=1), help="How many samples at once."
)
@click.option("--requests-per-minute", metavar="N", type=_MONEY, help="For each judge.")
@click.option("--max-cost", metavar="DOLLARS", type=_MONEY, help="Stop when judges have cost this.")
@click.option(
    "--prices", metavar="FILE", help="TOML: prices of models, in dollars a million tokens."
)
@click.option("--retry-failed", is_flag=True, help="Try what could not be scored again.")
@click.option("--durable", is_flag=True, help="Survive a power cut too, at some cost in speed.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap."
)
@click.option(
    "--bins", type=click.IntRange(1, 100), default=10, show_default=True, help="Of the ECE."
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Fit a temperature to the confidences on one half of the answers, judge it on the other.",
)
@store_option
@report_options
def command(run: str, *, as_json: bool, markdown: Path | None, **options: Any) -> None:
    """Score the stored outputs of a run again.

    RUN is an id, the start of one, or `latest`. The task files are read as they are now: targets,
    scorers, metrics and post-process rules may have changed. No evaluated model is asked; a sample
    whose prompt has changed has no stored output, and fails. A judge is asked again where its
    scorer, the row or the answer has changed, and where it gave no verdict. A project is read where
    RUN was given, with the models, `--set`, `--config` and `--env` of RUN. The result is a new run,
    which names RUN as its parent. Exit 0, 1 if a policy of the run file does not hold, 3 if some
    samples failed, 130 if interrupted.
    """
    check_writable(markdown)
    progress = Progress()
    report = api.score(run, watch=progress, **options)
    give(report, as_json=as_json, markdown=markdown, interrupted=progress.interrupted)
