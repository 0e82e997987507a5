"""`evalwright lint`."""

import sys

import click

from evalwright import api
from evalwright.cli.issues import by_rule, counted, format_options, unreadable, write


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--strict", is_flag=True, help="Exit 1 if anything is found.")
@format_options
def command(paths: tuple[str, ...], *, strict: bool, form: str, as_json: bool) -> None:
    """Point out what is legal and still suspicious.

    Leaked answers, duplicates, skewed letters, targets that no answer can reach. Invalid records
    are passed over; `validate` explains them. Exit 0 unless --strict.
    """
    lints = [api.lint(path) for path in paths]
    write(lints, "json" if as_json else form)
    records, found = sum(lint.valid for lint in lints), sum(lint.errors for lint in lints)
    line = f"{counted(records, 'record')}, " + (
        f"{counted(found, 'finding')}: {by_rule(lints)}" if found else "nothing suspicious"
    )
    if skipped := sum(lint.skipped for lint in lints):
        line += f"; {counted(skipped, 'invalid record')} passed over"
    for note in (note for lint in lints for note in lint.notes):
        click.echo(f"note: {note}", err=True)
    click.echo(line, err=True)
    sys.exit(2 if unreadable(lints) else bool(found and strict))
