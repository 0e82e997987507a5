"""Columns out of the reply of a model: JSON, however it is wrapped.

    Sure! ```json
    {"question": "What is H2O?", "answer": "water"}
    ```                                             →   {"question": …, "answer": …}

The reply must hold one JSON object that has the columns: alone, in a fence, or with prose around
it. Two different objects that both have them, a column that is missing or of another type, half an
object: each is a ValueError with the model's words in it. Nothing is guessed.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

ColumnType = Literal["string", "integer", "float", "boolean", "list"]
_JSON: Mapping[ColumnType, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "float": {"type": "number"},
    "boolean": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
}
_MOST_QUOTED = 200
_MOST_STARTS = 1000
"""Braces that are tried as the beginning of an object: more are no reply, but noise."""


def properties_of(columns: Mapping[str, ColumnType]) -> dict[str, Any]:
    """The properties of a JSON Schema for a reply with these columns."""
    return {name: _JSON[kind] for name, kind in columns.items()}


def columns_in(reply: str, columns: Mapping[str, ColumnType]) -> dict[str, Any]:
    """The values of the columns; ValueError if the reply does not clearly give them."""
    found: list[dict[str, Any]] = []
    for one in _objects(reply):
        if columns.keys() <= one.keys():
            kept = {name: one[name] for name in columns}
            if kept not in found:
                found.append(kept)
    if len(found) != 1:
        many = f"{len(found)} different JSON objects" if found else "no JSON object"
        names = ", ".join(f"`{name}`" for name in columns)
        said = f"the reply has {many}: {_cut(reply)}"
        raise ValueError(f"expected one JSON object with {names}, {said}")
    (row,) = found
    for name, kind in columns.items():
        if not _is(row[name], kind):
            got = type(row[name]).__name__
            raise ValueError(f"expected `{name}` to be a `{kind}`, got a `{got}`: {_cut(reply)}")
    return row


def _objects(reply: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that is not inside another one."""
    decoder = json.JSONDecoder(parse_constant=_refused)
    at = reply.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = reply.find("{", end)


def _refused(constant: str) -> Any:
    raise ValueError(f"`{constant}` is no value of JSON")


def _is(value: Any, kind: ColumnType) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    match kind:
        case "string":
            return isinstance(value, str) and bool(value.strip())
        case "integer":
            return isinstance(value, int)
        case "float":
            return isinstance(value, int | float)
        case "list":
            return isinstance(value, list)
        case _:
            return False


def _cut(reply: str) -> str:
    words = " ".join(reply.split())
    return repr(words if len(words) <= _MOST_QUOTED else f"{words[:_MOST_QUOTED]}…")
