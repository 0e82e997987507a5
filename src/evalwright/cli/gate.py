"""`evalwright gate`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from evalwright import api
from evalwright.cli.issues import count_by_rule, report_unreadable, report_warnings
from evalwright.cli.options import env_option, markdown_option, pairing_options, store_option
from evalwright.cli.output import (
    check_writable,
    format_count,
    terminal_width,
    write_bytes,
    write_result,
    write_text,
)
from evalwright.comparison.baseline import (
    DEFAULT_MARGIN,
    gate_annotations,
    gate_blocks,
    gate_cases,
    gate_page,
)
from evalwright.errors import EvalwrightError
from evalwright.report.ci_formats import junit_page
from evalwright.report.issues import render_text
from evalwright.report.messages import print_message
from evalwright.spec.checking import Checking


@click.command()
@click.argument("run", metavar="[RUN]", default="latest")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="FILE",
    help="YAML file with policies, or `-` for standard input; repeatable. Default: the policies in "
    "the run file.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Require whole confidence intervals to meet the thresholds and no samples to be missing.",
)
@click.option(
    "--baseline",
    metavar="RUN",
    default="",
    help="Also compare the run with RUN; no metric may be worse by more than the margin.",
)
@click.option(
    "--margin",
    metavar="X",
    type=click.FloatRange(min=0),
    default=DEFAULT_MARGIN,
    show_default=True,
    help="Largest accepted loss relative to the baseline.",
)
@pairing_options
@env_option
@store_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "junit", "github"]),
    default="text",
    show_default=True,
    help="Output format; `markdown` is a comment for a pull request.",
)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@markdown_option("verdicts")
def command(  # noqa: PLR0913 - one option each
    run: str,
    *,
    policies: tuple[str, ...],
    strict: bool,
    env: tuple[str, ...],
    baseline: str,
    margin: float,
    by: str,
    cluster: str,
    store: str | None,
    form: str,
    as_json: bool,
    markdown: Path | None,
) -> None:
    """Check a run against policies and a baseline.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest` (the default).
    Prints every rule with its verdict, the reason and the confidence interval. Nothing is run.
    With --baseline, each metric is compared with the same metric of another run, sample by sample.
    The check passes if the whole confidence interval for the difference is above −margin. Exits
    with status 0 if everything holds, 1 if a rule fails or a metric is worse, 5 if more samples are
    needed to decide, 2 if nothing could be checked because a policy is invalid, a run does not
    exist, or its report cannot be read.
    """
    check_writable(markdown)
    read = api.read_policies(policies, env=env)
    _refuse_bad(api.check_policies(read))
    result = api.gate(
        run,
        read,
        store=store,
        strict=strict,
        baseline=baseline,
        margin=margin,
        by=by,
        cluster=cluster,
    )
    error = write_text(markdown, gate_page(result)) if markdown else ""
    if form == "markdown":
        write_bytes([gate_page(result).encode()])
    elif form == "junit":
        write_bytes(piece.encode() for piece in junit_page(gate_cases(result)))
    elif form == "github":
        write_bytes(piece.encode() for piece in gate_annotations(result))
    else:
        write_result(result, gate_blocks(result), as_json=as_json or form == "json")
    if error:
        raise EvalwrightError(error)
    sys.exit(result.exit_code)


def _refuse_bad(checks: Sequence[Checking]) -> None:
    """Exit 2 if policy files have mistakes: all are printed, each with its place."""
    bad = [check for check in checks if list(check) or check.unreadable]
    report_warnings(checks)
    if bad:
        width = terminal_width() if sys.stderr.isatty() else None
        for paragraph in render_text(bad, width=width):  # on stderr: stdout is for verdicts
            print_message(paragraph.removesuffix("\n"))
        report_unreadable(bad)
        if errors := sum(check.errors for check in bad):
            line = f"{format_count(errors, 'error')}; nothing was checked: {count_by_rule(bad)}"
            print_message(line)
        sys.exit(2)
