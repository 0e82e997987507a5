"""`evalwright list`."""

from importlib import import_module

import click

from evalwright import api
from evalwright.cli.printing import store_option
from evalwright.cli.stdout import write_json_list
from evalwright.cli.table import print_table

_OF_A_PROJECT = ("tasks", "datasets", "generators", "adapters", "evals")


@click.command()
@click.argument("kind", type=click.Choice(["runs", "models", *_OF_A_PROJECT]), default="runs")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(kind: str, *, store: str | None, as_json: bool) -> None:
    """List runs, providers of models, or what a project has.

    Of a run: its id, when it began, its status, tasks and models, how many outcomes are stored of
    how many, and how many of them failed. The newest is first. `evalwright list tasks` is
    `evalwright tasks`, and so on; the models of a project are `evalwright models`.
    """
    if kind in _OF_A_PROJECT:
        from evalwright.cli import SHORTHANDS

        group = import_module(f"evalwright.cli.{SHORTHANDS[kind]}").command
        context = click.get_current_context()
        context.invoke(group.commands["list"], project=".", env=(), as_json=as_json)
    elif kind == "models":
        _models(as_json=as_json)
    else:
        _runs(store, as_json=as_json)


def _runs(store: str | None, *, as_json: bool) -> None:
    found = api.list_runs(store)
    if as_json:
        write_json_list(found)
    elif found:
        from evalwright.report.runs import COLUMNS, NUMERIC, cells

        print_table(COLUMNS, [cells(run) for run in found], NUMERIC)
    else:
        click.echo(f"no runs yet in {api.store_name(store)}", err=True)


def _models(*, as_json: bool) -> None:
    found = api.list_models()
    if as_json:
        write_json_list(found)
        return
    print_table(("model", "what"), [(f"{one.provider}/…", one.about) for one in found])
    click.echo("NAME_BASE_URL, such as OPENAI_BASE_URL, names another address", err=True)
