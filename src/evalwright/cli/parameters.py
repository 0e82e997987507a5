"""`-p NAME=VALUE`: parameters of a model, for the commands that ask one."""

import json
from typing import Any

from evalwright.errors import UsageError


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
