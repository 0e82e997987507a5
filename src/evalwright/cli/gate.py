"""`evalwright gate`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from evalwright import api
from evalwright.cli.issues import by_rule, counted, unreadable
from evalwright.cli.printing import check_writable, store_option
from evalwright.cli.projects import env_option
from evalwright.cli.stdout import write_json, write_lines
from evalwright.errors import EvalwrightError
from evalwright.spec.checking import Checking


@click.command()
@click.argument("run", metavar="[RUN]", default="latest")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="FILE",
    help="YAML with policies, `-` for stdin; repeat for more. Default: those of the run's own "
    "run file.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Whole intervals must meet the thresholds, and no sample may be missing.",
)
@env_option
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
@click.option(
    "--markdown",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the verdicts to FILE as markdown, too.",
)
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
    """Judge a run by policies.

    RUN is an id, the start of one, or `latest`, as without it. Every rule is printed with its
    verdict and the reason for it, the interval included. Nothing is run. Exit 0 if all rules hold,
    1 if any fails; 2 if nothing could be judged, because a policy is written wrongly, there is no
    such run, or its report cannot be read.
    """
    check_writable(markdown)
    read = api.read_policies(policies, env=env)
    _refuse_bad(api.check_policies(read))
    judged = api.gate(run, read, store, strict=strict)
    trouble = ""
    if markdown:
        from evalwright.report.tables_policies import gate_markdown

        try:
            markdown.write_text(gate_markdown(judged), encoding="utf-8")
        except OSError as error:
            trouble = f"{markdown}: cannot be written: {(error.strerror or str(error)).lower()}"
    if as_json:
        write_json(judged)
    else:
        from evalwright.report.tables_policies import gate_lines

        write_lines(gate_lines(judged))
    if trouble:
        raise EvalwrightError(trouble)
    sys.exit(0 if judged.holds else 1)


def _refuse_bad(checks: Sequence[Checking]) -> None:
    """Exit 2 for files with mistakes: all of them are shown, each at its place."""
    found = [check for check in checks if list(check) or check.unreadable]
    for check in checks:
        for one in check.warnings:
            click.echo(f"warning: {check.file}:{one.line}: {one.detail}", err=True)
    if found:
        from evalwright.report.issues.to_text import render

        click.echo("".join(render(found)), nl=False, err=True)  # stdout is for verdicts
        unreadable(found)
        errors = sum(check.errors for check in found)
        if errors:
            line = f"{counted(errors, 'error')}, nothing was judged: {by_rule(found)}"
            click.echo(line, err=True)
        sys.exit(2)
