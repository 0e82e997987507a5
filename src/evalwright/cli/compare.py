"""`evalwright compare`."""

from pathlib import Path

import click

from evalwright import api
from evalwright.cli.options import json_option, markdown_option, pairing_options, store_option
from evalwright.cli.output import check_writable, write_blocks, write_json_bytes, write_text
from evalwright.comparison.tables import comparison_blocks
from evalwright.errors import EvalwrightError


@click.command()
@click.argument("runs", metavar="RUN [RUN]...", nargs=-1, required=True)
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Compare only this model; repeatable. With two, the first is A and the second is B.",
)
@click.option(
    "--task", "tasks", multiple=True, metavar="NAME", help="Compare only this task; repeatable."
)
@click.option(
    "--margin",
    metavar="X",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Largest difference that does not matter. Intervals within ±X are `equivalent`.",
)
@pairing_options
@click.option(
    "--flips",
    metavar="N",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Maximum number of changed samples to show per task.",
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=0, help="Seed for the bootstrap."
)
@store_option
@json_option
@markdown_option("comparison")
def command(  # noqa: PLR0913 - one option each
    runs: tuple[str, ...],
    *,
    models: tuple[str, ...],
    tasks: tuple[str, ...],
    margin: float,
    by: str,
    cluster: str,
    flips: int,
    seed: int,
    store: str | None,
    as_json: bool,
    markdown: Path | None,
) -> None:
    """Compare runs, models or variants, sample by sample.

    The first RUN is A, the baseline; each other RUN is B. With one RUN, its models and variants are
    compared with each other. RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE),
    `latest` or `baseline:NAME`.

    Differences are B − A over the samples that both completed, with 95 % confidence intervals and
    p-values that are adjusted for the number of comparisons. Each verdict is `better`, `worse`,
    `equivalent` or `undecided`. Exits with status 0 whatever the verdicts are; `gate --baseline`
    checks them.
    """
    check_writable(markdown)
    first, *others = runs
    report = api.compare(
        first,
        *others,
        store=store,
        models=models,
        tasks=tasks,
        margin=margin,
        by=by,
        cluster=cluster,
        seed=seed,
        flips=flips,
    )
    error = write_text(markdown, report.to_markdown()) if markdown else ""
    if as_json:
        write_json_bytes([report.to_json().encode(), b"\n"])
    else:
        write_blocks(comparison_blocks(report))
    if error:
        raise EvalwrightError(error)
