"""`evalwright list`."""

from importlib import import_module

import click

from evalwright import api
from evalwright.cli import SHORTHANDS
from evalwright.cli.options import store_option
from evalwright.cli.output import print_table, write_json_list
from evalwright.report.runs import COLUMNS, NUMERIC, list_cells

_COMPONENTS = ("scorers", "solvers", "metrics", "sources")
_OF_A_PROJECT = ("tasks", "datasets", "generators", "adapters", "evals")
_KINDS = ("runs", "models", *_COMPONENTS, *_OF_A_PROJECT)


@click.command()
@click.argument("kind", type=click.Choice(_KINDS), default="runs")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(kind: str, *, store: str | None, as_json: bool) -> None:
    """List runs, component types, providers of models, or what a project has.

    Of a run: its id, when it began, its status, tasks and models, how many outcomes are stored of
    how many, and how many of them failed. The newest is first. `scorers`, `solvers`, `metrics`,
    `sources` (of datasets) and `models` are the types and providers that documents can name, with
    the plugin that each comes from. `evalwright list tasks` is `evalwright tasks`, and so on; the
    models of a project are `evalwright models`.
    """
    if kind in _OF_A_PROJECT:
        group = import_module(f"evalwright.cli.{SHORTHANDS[kind]}").command
        context = click.get_current_context()
        context.invoke(group.commands["list"], project=".", env=(), as_json=as_json)
    elif kind in _COMPONENTS:
        _components(kind, as_json=as_json)
    elif kind == "models":
        _models(as_json=as_json)
    else:
        _runs(store, as_json=as_json)


def _runs(store: str | None, *, as_json: bool) -> None:
    found = api.list_runs(store)
    if as_json:
        write_json_list(found)
    elif found:
        print_table(COLUMNS, [list_cells(run) for run in found], NUMERIC)
    else:
        click.echo(f"no runs yet in {api.store_name(store)}", err=True)


def _components(kind: str, *, as_json: bool) -> None:
    types = api.list_components(kind)
    if as_json:
        write_json_list(types)
        return
    rows = [(one.type, _origin(one.origin, one.version), one.about) for one in types]
    print_table(("type", "from", "what"), rows)


def _origin(name: str, version: str) -> str:
    return name if name == "built-in" else f"{name} {version}"


def _models(*, as_json: bool) -> None:
    found = api.list_models()
    if as_json:
        write_json_list(found)
        return
    rows = [(f"{one.provider}/…", _origin(one.origin, one.version), one.about) for one in found]
    print_table(("model", "from", "what"), rows)
    click.echo("NAME_BASE_URL, such as OPENAI_BASE_URL, names another address", err=True)
