"""`evalwright list`."""

from importlib import import_module
from typing import Any

import click

from evalwright import api
from evalwright.cli import SHORTHANDS
from evalwright.cli.options import store_option
from evalwright.cli.output import print_list
from evalwright.report.messages import print_message
from evalwright.report.runs import list_table

_OF_A_PROJECT = ("tasks", "datasets", "generators", "adapters", "evals")
_KINDS = ("runs", "models", "scorers", "solvers", "metrics", "sources", *_OF_A_PROJECT)


@click.command()
@click.argument("kind", type=click.Choice(_KINDS), default="runs")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(kind: str, *, store: str | None, as_json: bool) -> None:
    """List runs, component types, model providers or the contents of a project.

    Without an argument, lists runs, newest first, with models, the primary metric and its 95 %
    confidence interval, failures, cost, and the parameters that differ between runs.

    `scorers`, `solvers`, `metrics`, `sources` (dataset sources) and `models` list the types and
    providers that documents can name, and the plugin that provides each. `tasks`, `datasets`,
    `generators`, `adapters` and `evals` list the contents of the project in the current folder;
    `evalwright model list` lists its models.
    """
    if kind in _OF_A_PROJECT:
        group = import_module(f"evalwright.cli.{SHORTHANDS[kind]}").command
        context = click.get_current_context()
        context.invoke(group.commands["list"], project=".", env=(), as_json=as_json)
    elif kind == "runs":
        runs = api.runs(store)
        if runs or as_json:
            print_list(runs, *list_table(runs), as_json=as_json)
        else:
            print_message(f"no runs yet in {api.store_name(store)}")
    elif kind == "models":
        models = api.list_models()
        rows = [(f"{model.provider}/…", _origin(model), model.about) for model in models]
        print_list(models, ("model", "from", "what"), rows, as_json=as_json)
        if not as_json:
            print_message("to use a different address, set NAME_BASE_URL, such as OPENAI_BASE_URL")
    else:
        types = api.list_components(kind)
        rows = [(each.type, _origin(each), each.about) for each in types]
        print_list(types, ("type", "from", "what"), rows, as_json=as_json)


def _origin(listed: Any) -> str:
    return listed.origin if listed.origin == "built-in" else f"{listed.origin} {listed.version}"
