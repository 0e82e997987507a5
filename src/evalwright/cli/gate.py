"""`evalwright gate`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from evalwright import api
from evalwright.cli.issues import count_by_rule, report_unreadable, report_warnings
from evalwright.cli.options import env_option, markdown_option, store_option
from evalwright.cli.output import (
    check_writable,
    format_count,
    terminal_width,
    write_result,
    write_text,
)
from evalwright.errors import EvalwrightError
from evalwright.report.issues import render_text
from evalwright.report.messages import print_message
from evalwright.report.policies import gate_lines, gate_markdown
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
@env_option
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
@markdown_option("verdicts")
def command(  # noqa: PLR0913 - one option each
    run: str,
    *,
    policies: tuple[str, ...],
    strict: bool,
    env: tuple[str, ...],
    store: str | None,
    as_json: bool,
    markdown: Path | None,
) -> None:
    """Check a run against policies.

    RUN is a run id or a prefix of one, a run name, a tag (KEY=VALUE), or `latest` (the default).
    Prints every rule with its verdict, the reason and the confidence interval. Nothing is run.
    Exits with status 0 if all rules hold, 1 if any fails, 2 if nothing could be checked because a
    policy is invalid, the run does not exist, or its report cannot be read.
    """
    check_writable(markdown)
    read = api.read_policies(policies, env=env)
    _refuse_bad(api.check_policies(read))
    verdicts = api.gate(run, read, store=store, strict=strict)
    error = write_text(markdown, gate_markdown(verdicts)) if markdown else ""
    write_result(verdicts, gate_lines(verdicts), as_json=as_json)
    if error:
        raise EvalwrightError(error)
    sys.exit(0 if verdicts.holds else 1)


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
