"""Options that several commands share, and how their values are parsed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from evalwright.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])
COUNT = click.IntRange(min=1)
POSITIVE = click.FloatRange(min=0, min_open=True)


class Decorator(Protocol):
    """Adds options to a command."""

    def __call__(self, command: Command, /) -> Command:
        """Return the command with the options."""


class OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names, unsorted."""
        return list(self.commands)


def combine(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in this order."""

    def add_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add_options


def markdown_option(what: str) -> Decorator:
    """Return `--markdown`, which writes `what`."""
    return click.option(
        "--markdown",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help=f"Write the {what} to FILE as markdown, too.",
    )


def samples_option(*names: str, default: int, about: str, least: int = 1) -> Decorator:
    """Return `-n`, which counts samples."""
    count = click.IntRange(min=least)
    names = ("-n", *names)
    return click.option(
        *names, metavar="N", type=count, default=default, show_default=True, help=about
    )


def concurrency_option(about: str) -> Decorator:
    """Return `--concurrency`, which counts what `about` says."""
    return click.option("--concurrency", metavar="N", type=COUNT, help=about)


def max_cost_option(about: str = "Stop when this is spent.") -> Decorator:
    """Return `--max-cost`."""
    return click.option("--max-cost", metavar="DOLLARS", type=POSITIVE, help=about)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
store_option = click.option(
    "--store",
    metavar="FILE",
    help="Where runs are stored. Default: EVALWRIGHT_STORE, or .evalwright/runs.db here.",
)
report_options = combine(
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
    markdown_option("report"),
)
issue_format_options = combine(
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json", "github", "junit"]),
        default="text",
        show_default=True,
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
)
env_option = click.option(
    "--env",
    multiple=True,
    metavar="FILE",
    help="Variables for `$NAME` in documents: they win over the environment, that over .env.",
)
project_option = click.option(
    "--project",
    metavar="DIR",
    default=".",
    help="The folder of the project. Default: the current one.",
)
project_options = combine(project_option, env_option)
value_options = combine(
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="A parameter of the evaluation, or of its tasks.",
    ),
    click.option("--config", metavar="FILE", help="YAML with `config` and `run_config`."),
)
model_options = combine(
    click.option(
        "-m",
        "--model",
        "models",
        multiple=True,
        metavar="MODEL",
        help="provider/model; repeat to compare.",
    ),
    click.option(
        "-p",
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the models, such as temperature=0; the value is JSON, or else text.",
    ),
)
sandbox_options = combine(
    click.option(
        "--in-process-targets",
        is_flag=True,
        help="Judge a program in its own process: faster, but it could forge its verdict.",
    ),
    click.option(
        "--sandbox-package",
        "sandbox_packages",
        multiple=True,
        metavar="NAME",
        help="An installed package that programs may import; repeat for more.",
    ),
    click.option(
        "--unsafe-code-exec",
        is_flag=True,
        help="Where no sandbox is available, run programs in a plain child process: no isolation "
        "from your files or network.",
    ),
)
no_snippets_option = click.option(
    "--no-snippets", is_flag=True, help="Refuse a project that brings its own Python."
)
snippet_timeout_option = click.option(
    "--snippet-timeout",
    metavar="SECONDS",
    type=POSITIVE,
    default=60.0,
    show_default=True,
    help="How long one call of a snippet may take.",
)
retries_option = click.option(
    "--retries",
    metavar="N",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="How often to retry a call when that can help.",
)
prices_option = click.option(
    "--prices", metavar="FILE", help="TOML: prices of models, in dollars per million tokens."
)
cache_option = click.option(
    "--cache", is_flag=True, help="Store replies, and answer equal requests from them."
)
durable_option = click.option(
    "--durable", is_flag=True, help="Survive a power cut too, at some cost in speed."
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Bootstrap seed."
)
statistics_options = combine(
    seed_option,
    click.option(
        "--bins", type=click.IntRange(1, 100), default=10, show_default=True, help="ECE bins."
    ),
    click.option(
        "--calibrate",
        is_flag=True,
        help="Fit a temperature to the confidences on one half of the answers, judge it on the "
        "other.",
    ),
)


def parse_settings(pairs: tuple[str, ...]) -> dict[str, str]:
    """Parse the values of `--set`; they stay text, because the parameter's type decides."""
    return dict(_split_pair(pair, option="--set", form="KEY=VALUE") for pair in pairs)


def parse_parameters(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Parse the values of `-p`: each is JSON, or else text."""
    parameters: dict[str, Any] = {}
    for pair in pairs:
        name, value = _split_pair(pair, option="-p", form="NAME=VALUE")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
    return parameters


def _split_pair(pair: str, *, option: str, form: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not name or not equals:
        raise UsageError(f"`{option} {pair}`: a parameter is written {form}")
    return name, value
