"""What commands that read a project have in common: parameters, their file, the environment."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from evalwright.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])


def env_option(function: Command) -> Command:
    """`--env`."""
    return click.option(
        "--env",
        multiple=True,
        metavar="FILE",
        help="Variables for `$NAME` in documents: they win over the environment, that over .env.",
    )(function)


def value_options(function: Command) -> Command:
    """`--set` and `--config`."""
    given = click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="A parameter of the evaluation, or of its tasks.",
    )
    file = click.option("--config", metavar="FILE", help="YAML with `config` and `run_config`.")
    return given(file(function))


def settings_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """`KEY=VALUE` as it was typed: the parameter's type says what it means."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise UsageError(f"`--set {pair}`: a parameter is written KEY=VALUE")
        settings[name] = value
    return settings
