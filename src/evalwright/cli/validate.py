"""`evalwright validate`."""

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from evalwright import api
from evalwright.cli.issues import by_rule, counted, format_options, unreadable, write
from evalwright.cli.projects import env_option
from evalwright.spec.checking import Checking


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@env_option
@format_options
def command(paths: tuple[str, ...], *, env: tuple[str, ...], form: str, as_json: bool) -> None:
    """Point out every mistake in task files and projects.

    A PATH is a JSONL file of records, plain, gzip or zstd (`-` is standard input); or a YAML file
    of a project: a task, a dataset, a model, an evaluation, a run file; or a folder of them.
    Nothing is run. Exit 0 if all of it is valid, 1 if any is not, 2 if a file cannot be read.
    """
    conclude(api.checks(paths, env=env), "json" if as_json else form)


def conclude(checks: Sequence[Checking], form: str) -> NoReturn:
    """Write what is wrong, count it, exit."""
    write(checks, form)
    errors = sum(check.errors for check in checks)
    line = f"{_valid(checks)}, {counted(errors, 'error')}"
    if errors:
        line += f": {by_rule(checks)}"
    for check in checks:
        for one in check.warnings:
            click.echo(f"warning: {check.file}:{one.line}: {one.detail}", err=True)
    click.echo(line, err=True)
    sys.exit(2 if unreadable(checks) else bool(errors))


def _valid(checks: Sequence[Checking]) -> str:
    """`3 valid records`, or documents, or both."""
    totals: dict[str, int] = {}
    for check in checks:
        totals[check.noun] = totals.get(check.noun, 0) + check.valid
    return ", ".join(counted(count, f"valid {noun}") for noun, count in totals.items())
