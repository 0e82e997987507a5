"""`evalwright validate`."""

import sys

import click

from evalwright import api
from evalwright.cli.issues import by_rule, counted, format_options, unreadable, write


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@format_options
def command(paths: tuple[str, ...], *, form: str, as_json: bool) -> None:
    """Point out every mistake in task files.

    A PATH is a JSONL file of records, plain, gzip or zstd; `-` is standard input. Exit 0 if every
    record is valid, 1 if any is not, 2 if a file cannot be read.
    """
    checks = api.checks(paths)
    write(checks, "json" if as_json else form)
    valid, errors = sum(check.valid for check in checks), sum(check.errors for check in checks)
    line = f"{counted(valid, 'valid record')}, {counted(errors, 'error')}"
    if errors:
        line += f": {by_rule(checks)}"
    click.echo(line, err=True)
    sys.exit(2 if unreadable(checks) else bool(errors))
