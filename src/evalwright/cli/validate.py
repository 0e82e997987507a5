"""`evalwright validate`."""

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from evalwright import api
from evalwright.cli.issues import (
    count_by_noun,
    count_by_rule,
    report_unreadable,
    report_warnings,
    write_issues,
)
from evalwright.cli.options import env_option, issue_format_options
from evalwright.cli.output import format_count
from evalwright.spec.checking import Checking


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@env_option
@issue_format_options
def command(paths: tuple[str, ...], *, env: tuple[str, ...], form: str, as_json: bool) -> None:
    """Point out every mistake in task files and projects.

    A PATH is a JSONL file of records, plain, gzip or zstd (`-` is standard input); or a YAML file
    of a project: a task, a dataset, a model, an evaluation, a run file; or a folder of them.
    Nothing is run. Exit 0 if all of it is valid, 1 if any is not, 2 if a file cannot be read.
    """
    report_and_exit(api.checks(paths, env=env), "json" if as_json else form)


def report_and_exit(checks: Sequence[Checking], form: str) -> NoReturn:
    """Print the issues and their number, and exit."""
    write_issues(checks, form)
    errors = sum(check.errors for check in checks)
    line = f"{count_by_noun(checks, 'valid ')}, {format_count(errors, 'error')}"
    if errors:
        line += f": {count_by_rule(checks)}"
    report_warnings(checks)
    click.echo(line, err=True)
    sys.exit(2 if report_unreadable(checks) else bool(errors))
