"""`evalwright score`."""

from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.output import check_writable, exit_with_report
from evalwright.session.terminal_progress import TerminalProgress


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--allow-bad-tasks", is_flag=True, help="Score the valid records in an invalid file.")
@shared.sandbox_options
@shared.env_option
@shared.no_snippets_option
@shared.concurrency_option("Number of samples to score at once.")
@click.option(
    "--requests-per-minute",
    metavar="N",
    type=shared.POSITIVE,
    help="Rate limit per judge.",
)
@shared.max_cost_option("Stop when this many dollars are spent on judges.")
@shared.prices_option
@click.option("--retry-failed", is_flag=True, help="Retry samples that could not be scored.")
@shared.durable_option
@shared.label_options
@shared.statistics_options
@shared.store_option
@shared.report_options
def command(
    run: str, *, tags: tuple[str, ...], as_json: bool, markdown: Path | None, **options: Any
) -> None:
    """Score the stored outputs of a run again.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest`. Scoring uses the
    current task files, whose targets, scorers, metrics and post-process rules may have changed.
    Evaluated models are not queried; a sample whose prompt has changed has no stored output and
    fails. A judge is queried again if its scorer, the row or the answer has changed, or if it gave
    no verdict. A project is read from the folder used by RUN, with the same models, `--set`,
    `--config` and `--env`. The result is a new run with RUN as its parent. Exits with status 0 on
    success, 1 if the task files are invalid or a policy in the run file fails, 3 if some
    samples failed or a limit was reached, 130 if interrupted.
    """
    check_writable(markdown)
    progress = TerminalProgress()
    report = api.score(run, progress=progress, tags=shared.parse_tags(tags), **options)
    exit_with_report(report, as_json=as_json, markdown=markdown, interrupted=progress.interrupted)
