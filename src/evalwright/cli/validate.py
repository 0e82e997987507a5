"""`evalwright validate`."""

import click

from evalwright import api
from evalwright.cli.issues import report_and_exit
from evalwright.cli.options import env_option, issue_format_options


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@env_option
@issue_format_options
def command(paths: tuple[str, ...], *, env: tuple[str, ...], form: str, as_json: bool) -> None:
    """Report every error in task files and projects.

    PATH is a JSONL file of records (plain, gzip or zstd; `-` for standard input), a project's YAML
    file (such as a task, a dataset, a model, a plan or a run file), or a folder of such files.
    Nothing is run. Exits with status 0 if everything is valid, 1 if anything is invalid, 2 if a
    file cannot be read.
    """
    report_and_exit(api.checks(paths, env=env), "json" if as_json else form)
