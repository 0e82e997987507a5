"""Which models are asked, and how: for the commands that ask them."""

import json
from typing import Any

import click

from evalwright.errors import UsageError


def model_options(function: Any) -> Any:
    """`-m` and `-p`."""
    models = click.option(
        "-m",
        "--model",
        "models",
        multiple=True,
        metavar="MODEL",
        help="provider/model; repeat to compare.",
    )
    parameters = click.option(
        "-p",
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the models, such as temperature=0; the value is JSON, or else text.",
    )
    return models(parameters(function))


def parameters_of(pairs: tuple[str, ...]) -> dict[str, Any]:
    """The value is JSON, or else text."""
    return dict(map(_parameter, pairs))


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"`-p {text}`: a parameter is written NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
