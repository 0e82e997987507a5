"""Texts, numbers and bools: what lists and dicts of a configuration hold, and how they are read.

Nothing is bent into shape: a bool is no number, a text of digits is a text; only an int is a float
too. Every mistake is a ValueError of one line: what was expected, and what came.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from evalwright.spec.documents.faults import kind_of_value

Scalar = Literal["string", "integer", "float", "boolean"]
"""What a list or a dict holds."""

STAND_INS: Mapping[str, Any] = {
    "string": "text",
    "integer": 1,
    "float": 1.0,
    "boolean": True,
}
"""A value of each, for checks that have none."""

_SCALARS: Mapping[str, tuple[Any, str]] = {
    "string": (str, "str"),
    "integer": (int, "int"),
    "float": (int | float, "float"),
    "boolean": (bool, "bool"),
}
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_MARKER = "stand_in_for_"


def scalar(value: Any, dtype: Scalar) -> Any:
    """The value itself, if it is of the type."""
    expected, name = _SCALARS[dtype]
    if isinstance(value, bool) is not (dtype == "boolean") or not isinstance(value, expected):
        raise ValueError(f"expected `{name}`, got `{kind_of_value(value)}`")
    return value


def of_kind(value: Any, kind: type[Any]) -> Any:
    """The value itself, if it is a list or a dict, whichever is asked for."""
    if not isinstance(value, kind):
        raise ValueError(f"expected `{kind.__name__}`, got `{kind_of_value(value)}`")  # noqa: TRY004 - one kind of error for all values
    return value


def item(place: str, value: Any, dtype: Scalar) -> Any:
    """The same for a value inside a list or a dict; `place` says which in the message."""
    try:
        return float(scalar(value, dtype)) if dtype == "float" else scalar(value, dtype)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def name_in(value: Any, takes: str) -> str:
    """A text that names something, so it is not empty."""
    if not isinstance(value, str):
        raise ValueError(f"expected the {takes}, got `{kind_of_value(value)}`")  # noqa: TRY004 - one kind of error for all values
    if not value.strip():
        raise ValueError(f"expected the {takes}, got an empty text")
    return value


def truth(value: Any) -> Any:
    """The bool that a text stands for; everything else as it is."""
    return _TRUTHS.get(value.lower(), value) if isinstance(value, str) else value


def read_number(text: str, read: Callable[[str], float]) -> float:
    """The number that a text is, read by `int` or `float`."""
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"expected `{read.__name__}`, got `{text}`") from error


def items(text: str, dtype: Scalar) -> Any:
    """The list that a text of the command line stands for."""
    if text.lstrip().startswith("["):
        return from_json(text, "a JSON list, or items with commas between them")
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    match dtype:
        case "integer":
            return [read_number(part, int) for part in parts]
        case "float":
            return [read_number(part, float) for part in parts]
        case "boolean":
            return [truth(part) for part in parts]
        case _:
            return parts


def from_json(text: str, expected: str) -> Any:
    """What a JSON text holds."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"expected {expected}, got `{text}`") from error


def nearest_legal(number: float, low: float | None, high: float | None) -> float:
    """A number, moved into a range as little as possible."""
    if low is not None:
        number = max(number, low)
    return number if high is None else min(number, high)


def marker(key: str) -> str:
    """A text for a value that is not known yet: a name in Jinja and in Python, and a legal key."""
    return _MARKER + "".join(one if one.isascii() and one.isalnum() else "_" for one in key)


def is_stand_in(value: Any) -> bool:
    """Whether a value is, or holds, a text that only stands for one that is not known yet."""
    return isinstance(value, str) and _MARKER in value
