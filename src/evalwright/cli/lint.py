"""`evalwright lint`."""

import sys

import click

from evalwright import api
from evalwright.cli.issues import count_by_noun, count_by_rule, report_unreadable, write_issues
from evalwright.cli.options import env_option, issue_format_options
from evalwright.cli.output import format_count
from evalwright.report.messages import print_message


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--strict", is_flag=True, help="Exit with status 1 if anything is found.")
@env_option
@issue_format_options
def command(
    paths: tuple[str, ...], *, strict: bool, env: tuple[str, ...], form: str, as_json: bool
) -> None:
    """Report likely mistakes in valid task files and projects.

    In records: leaked answers, duplicates, skewed answer letters, and targets that no answer can
    match. In project documents: judge prompts that do not mark where the answer begins and ends.
    Invalid records are skipped; `validate` reports them. Exits with status 0 unless --strict is
    given.
    """
    lints = api.lints(paths, env=env)
    write_issues(lints, "json" if as_json else form)
    count = sum(lint.errors for lint in lints)
    findings = f"{format_count(count, 'finding')}: {count_by_rule(lints)}"
    line = f"{count_by_noun(lints)}, {findings if count else 'nothing suspicious'}"
    if skipped := sum(lint.skipped for lint in lints):
        line += f"; {format_count(skipped, f'invalid {lints[0].noun}')} skipped; "
        line += f"`evalwright validate {paths[0]}` explains why"
    for note in (note for lint in lints for note in lint.notes):
        print_message(f"note: {note}")
    print_message(line)
    sys.exit(2 if report_unreadable(lints) else bool(count and strict))
