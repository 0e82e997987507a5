"""`evalwright lint`."""

import sys
from collections.abc import Sequence

import click

from evalwright import api
from evalwright.cli.issues import by_rule, counted, format_options, unreadable, write
from evalwright.cli.projects import env_option
from evalwright.spec.checking import Checking


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--strict", is_flag=True, help="Exit 1 if anything is found.")
@env_option
@format_options
def command(
    paths: tuple[str, ...], *, strict: bool, env: tuple[str, ...], form: str, as_json: bool
) -> None:
    """Point out what is legal and still suspicious.

    In records: leaked answers, duplicates, skewed letters, targets that no answer can reach. In
    the documents of a project: a judge's prompt with the answer unfenced in it. What is invalid is
    passed over; `validate` explains it. Exit 0 unless --strict.
    """
    lints = api.lints(paths, env=env)
    write(lints, "json" if as_json else form)
    found = sum(lint.errors for lint in lints)
    line = f"{_looked_at(lints)}, " + (
        f"{counted(found, 'finding')}: {by_rule(lints)}" if found else "nothing suspicious"
    )
    if skipped := sum(lint.skipped for lint in lints):
        line += f"; {counted(skipped, f'invalid {lints[0].noun}')} passed over"
    for note in (note for lint in lints for note in lint.notes):
        click.echo(f"note: {note}", err=True)
    click.echo(line, err=True)
    sys.exit(2 if unreadable(lints) else bool(found and strict))


def _looked_at(lints: Sequence[Checking]) -> str:
    """`3 records`, or documents, or both."""
    totals: dict[str, int] = {}
    for lint in lints:
        totals[lint.noun] = totals.get(lint.noun, 0) + lint.valid
    return ", ".join(counted(count, noun) for noun, count in totals.items())
