"""`evalwright run`."""

from pathlib import Path
from typing import Any

import click

from evalwright import api
from evalwright.cli import options as shared
from evalwright.cli.issues import report_and_exit
from evalwright.cli.output import check_writable, exit_with_report
from evalwright.errors import UsageError
from evalwright.session.terminal_progress import TerminalProgress
from evalwright.vocabulary import MAX_SAMPLES

SECTIONS = {
    "What to run": (
        *("files", "project", "evaluation", "settings", "config", "env", "include_root"),
        *("limit", "trials", "allow_bad_tasks", "fresh", "retry_failed"),
    ),
    "Models": ("models", "parameters", "mcq", "confidence"),
    "Limits and cost": (
        *("concurrency", "requests_per_minute", "tokens_per_minute", "retries", "max_cost"),
        *("max_tokens_total", "max_failures", "fail_fast", "prices", "cache"),
    ),
    "Code": (
        *("in_process_targets", "require_verified", "sandbox_packages", "unsafe_code_exec"),
        "no_snippets",
        "snippet_timeout",
    ),
    "Output": (
        "as_json",
        "markdown",
        "name",
        "tags",
        "store",
        "durable",
        "seed",
        "bins",
        "calibrate",
    ),
}
"""The sections of `--help`, and the options in each."""
_EXAMPLES = """\
\b
Examples:
  evalwright run tasks.jsonl -m scripted/oracle -m scripted/noisy
  evalwright run tasks.jsonl -m openai/gpt-4.1-mini -p temperature=0 --max-cost 2
  evalwright run run.yaml --limit 5 --json
"""


@click.command(cls=shared.SectionedCommand, sections=SECTIONS, epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("-f", "--file", "files", multiple=True, metavar="PATH", help="Same as PATH.")
@shared.model_options
@shared.value_options
@click.option("--evaluation", metavar="KEY", help="Evaluation to run, if the project has several.")
@shared.env_option
@click.option(
    "-n",
    "--limit",
    "--num-samples",
    "limit",
    metavar="N",
    type=shared.COUNT,
    help="Run only the first N samples of each task.",
)
@click.option(
    "--trials",
    "--samples",
    "trials",
    metavar="N",
    type=click.IntRange(1, MAX_SAMPLES),
    help="Trials per sample, for pass@k. Default: the task's setting, or 1.",
)
@click.option(
    "--mcq",
    type=click.Choice(["letter", "loglikelihood"]),
    default="letter",
    show_default=True,
    help="How multiple-choice questions are answered: by the letter in the generated text, or by "
    "the option with the highest likelihood.",
)
@click.option(
    "--confidence",
    type=click.Choice(["logprobs", "self"]),
    default="logprobs",
    show_default=True,
    help="Where confidences come from: the answer's log-probabilities, or the model's own "
    "estimate.",
)
@click.option("--allow-bad-tasks", is_flag=True, help="Run the valid records in an invalid file.")
@shared.sandbox_options
@shared.no_snippets_option
@shared.snippet_timeout_option
@shared.concurrency_option(
    "Number of samples to run at once. Default: as many as the server accepts, up to 64."
)
@click.option(
    "--requests-per-minute", metavar="N", type=shared.POSITIVE, help="Rate limit per model."
)
@click.option(
    "--tokens-per-minute", metavar="N", type=shared.POSITIVE, help="Rate limit per model."
)
@shared.retries_option
@shared.max_cost_option()
@click.option(
    "--max-tokens-total",
    metavar="N",
    type=shared.COUNT,
    help="Stop when this many tokens are used.",
)
@click.option(
    "--max-failures", metavar="N|P%", help="Stop when more samples than this have failed."
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed sample.")
@shared.prices_option
@shared.cache_option
@shared.store_option
@click.option("--fresh", is_flag=True, help="Start a new run and reuse nothing.")
@click.option("--retry-failed", is_flag=True, help="Retry the failed samples of an earlier run.")
@click.option("-v", "--validate", "only_validates", is_flag=True, hidden=True)
@click.option("-w", "--wait", is_flag=True, hidden=True, expose_value=False)
@click.option("--no-update", is_flag=True, hidden=True, expose_value=False)
@shared.durable_option
@shared.label_options
@shared.statistics_options
@shared.report_options
def command(  # noqa: PLR0913 - the rest goes to `RunOptions` as it is
    paths: tuple[str, ...],
    *,
    files: tuple[str, ...],
    models: tuple[str, ...],
    parameters: tuple[str, ...],
    settings: tuple[str, ...],
    tags: tuple[str, ...],
    max_failures: str | None,
    fail_fast: bool,
    only_validates: bool,
    as_json: bool,
    markdown: Path | None,
    **options: Any,
) -> None:
    """Run tasks with models and rank the models.

    PATH is a JSONL file of records or a project: its run.yaml, its folder, a plan or one of its
    tasks. A project names its models; -m overrides them. MODEL is a provider's model, such as
    `openai/gpt-4.1-mini` or `ollama/llama3.2`; recorded answers, such as `replay/outputs.jsonl`; or
    a scripted model that needs no key, such as `scripted/oracle`. Running the same command again
    resumes an unfinished run. Exits with status 0 on success, 1 if the task files are invalid or a
    policy in the run file fails, 3 if some samples failed or a limit was reached, 130 if
    interrupted.
    """
    paths = (*paths, *files)
    if not paths:
        raise UsageError("PATH is missing", hint="evalwright run --help")
    if only_validates:  # as `lf run -v`; -w and --no-update of `lf` ask for what is always so
        report_and_exit(api.checks(paths, env=options["env"]), "json" if as_json else "text")
    check_writable(markdown)
    progress = TerminalProgress()
    report = api.run(
        paths,
        models,
        progress=progress,
        parameters=shared.parse_parameters(parameters),
        settings=shared.parse_settings(settings),
        tags=shared.parse_tags(tags),
        max_failures=0 if fail_fast else _parse_max_failures(max_failures),
        **options,
    )
    exit_with_report(report, as_json=as_json, markdown=markdown, interrupted=progress.interrupted)


def _parse_max_failures(text: str | None) -> float | None:
    """Parse `5`, or `10%` as a fraction."""
    if text is None:
        return None
    number, percent = text.removesuffix("%"), text.endswith("%")
    try:
        value = float(number) / 100 if percent else float(int(number))
    except ValueError:
        raise UsageError(
            f"`--max-failures {text}`: expected a number, or a percentage such as 10%"
        ) from None
    if value < 0 or (percent and value >= 1):
        raise UsageError(
            f"`--max-failures {text}`: expected 0 or more, and a percentage below 100%"
        )
    return value
