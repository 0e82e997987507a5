"""`evalwright run`."""

from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli.parameters import model_options, parameters_of
from evalwright.cli.printing import check_writable, give, report_options, store_option
from evalwright.cli.progress import Progress
from evalwright.cli.projects import env_option, settings_of, value_options
from evalwright.cli.sandboxes import sandbox_options
from evalwright.errors import UsageError
from evalwright.vocabulary import MAX_SAMPLES

_COUNT = click.IntRange(min=1)
_MONEY = click.FloatRange(min=0, min_open=True)


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("-f", "--file", "files", multiple=True, metavar="PATH", help="The same as PATH.")
@model_options
@value_options
@click.option("--evaluation", metavar="KEY", help="Of a project that has several.")
@env_option
@click.option("--limit", metavar="N", type=_COUNT, help="Only the first N samples of each task.")
@click.option(
    "--samples",
    metavar="N",
    type=click.IntRange(1, MAX_SAMPLES),
    help="How many answers to draw for each record, for pass@k. Default: `metadata.samples`, or 1.",
)
@click.option(
    "--trials",
    metavar="N",
    type=click.IntRange(1, MAX_SAMPLES),
    help="How often to try each sample of a project. Default: as its documents say, or once.",
)
@click.option(
    "--mcq",
    type=click.Choice(["letter", "loglikelihood"]),
    default="letter",
    show_default=True,
    help="How multiple choice of records is answered: by the letter in what the model generates, "
    "or by the one that it finds likeliest.",
)
@click.option(
    "--confidence",
    type=click.Choice(["logprobs", "self"]),
    default="logprobs",
    show_default=True,
    help="Where the confidences of records are from: log-probabilities of the answer, or the "
    "model itself, asked about its answer.",
)
@click.option("--allow-bad-tasks", is_flag=True, help="Run the valid records of a bad file.")
@sandbox_options
@click.option("--no-snippets", is_flag=True, help="Refuse a project that brings its own Python.")
@click.option(
    "--snippet-timeout",
    metavar="SECONDS",
    type=_MONEY,
    default=60.0,
    show_default=True,
    help="How long one call of a snippet may take.",
)
@click.option(
    "--concurrency",
    metavar="N",
    type=_COUNT,
    help="How many samples at once. Default: as many as the server takes, up to 64.",
)
@click.option("--requests-per-minute", metavar="N", type=_MONEY, help="For each model.")
@click.option("--tokens-per-minute", metavar="N", type=_MONEY, help="For each model.")
@click.option(
    "--retries",
    metavar="N",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="How often a call is tried again when that can help.",
)
@click.option("--max-cost", metavar="DOLLARS", type=_MONEY, help="Stop when this is spent.")
@click.option("--max-tokens-total", metavar="N", type=_COUNT, help="Stop when these are used.")
@click.option("--max-failures", metavar="N|P%", help="Stop when more samples have failed.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failure.")
@click.option(
    "--prices", metavar="FILE", help="TOML: prices of models, in dollars a million tokens."
)
@click.option("--cache", is_flag=True, help="Keep replies, and answer equal requests from them.")
@store_option
@click.option("--fresh", is_flag=True, help="Begin another run, and reuse nothing.")
@click.option("--retry-failed", is_flag=True, help="Try the failed samples of the run again.")
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
@report_options
def command(  # noqa: PLR0913 - the rest goes to `RunOptions` as it is
    paths: tuple[str, ...],
    *,
    files: tuple[str, ...],
    models: tuple[str, ...],
    parameters: tuple[str, ...],
    settings: tuple[str, ...],
    max_failures: str | None,
    fail_fast: bool,
    as_json: bool,
    markdown: Path | None,
    **options: Any,
) -> None:
    """Run tasks with models and rank them.

    PATH is a JSONL file of records, or a project of task documents: its run.yaml, its folder, or
    one task. A project names its models itself; -m takes their place. MODEL is
    `openai/gpt-4.1-mini`, `ollama/llama3.2` and so on, `replay/outputs.jsonl` (recorded answers),
    or `scripted/oracle` and its like, which show what a report looks like. The same command again
    goes on with an unfinished run. Exit 0, 1 if a policy of the run file does not hold, 3 if some
    samples failed or a cap was reached, 130 if interrupted.
    """
    paths = (*paths, *files)
    if not paths:
        raise UsageError("no PATH was given", hint="evalwright run --help")
    check_writable(markdown)
    progress = Progress()
    report = api.run(
        paths,
        models,
        watch=progress,
        parameters=parameters_of(parameters),
        settings=settings_of(settings),
        max_failures=0 if fail_fast else _failures(max_failures),
        **options,
    )
    give(report, as_json=as_json, markdown=markdown, interrupted=progress.interrupted)


def _failures(text: str | None) -> float | None:
    """`5`, or `10%` as a share."""
    if text is None:
        return None
    number, percent = text.removesuffix("%"), text.endswith("%")
    try:
        value = float(number) / 100 if percent else float(int(number))
    except ValueError:
        raise UsageError(f"`--max-failures {text}`: a number, or a share such as 10%") from None
    if value < 0 or (percent and value >= 1):
        raise UsageError(f"`--max-failures {text}`: 0 or more, and a share below 100%")
    return value
