"""Declared types of columns: `columns: {age: int, joined: date}`.

    string     text
    int        an integer of at most 18 digits; `3.0` is 3
    float      a number
    bool       `true` or `false`, ignoring case
    date       `2026-03-01`
    datetime   `2026-03-01T09:00:00`, with or without seconds and time zone
    list       a list; text is parsed as JSON
    object     an object; text is parsed as JSON
    json       any JSON value; text is parsed as JSON

Text that represents a value of the type is converted, ignoring spaces around it; the cells of a CSV
file are text. Dates and times are kept as text, in ISO 8601. Null, NaN, an absent key and an empty
cell of a CSV file are missing values, which fit every type. Numbers are not converted to text or
booleans.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Literal

import msgspec

from evalwright.datasets.json_files import describe_type

ColumnType = Literal["string", "int", "float", "bool", "date", "datetime", "list", "object", "json"]
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}(?:\.0+)?")
_FLOAT = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_LONGEST_SHOWN = 40
_EXPECTED: Mapping[ColumnType, str] = {
    "string": "text",
    "int": "an integer",
    "float": "a number",
    "bool": "`true` or `false`",
    "date": "a date such as `2026-03-01`",
    "datetime": "a time such as `2026-03-01T09:00:00`",
    "list": "a list",
    "object": "an object",
    "json": "JSON",
}

Conversion = Callable[[Any], Any]


class ColumnTypes:
    """Converts the values of rows to the declared types of their columns."""

    def __init__(self, types: Mapping[str, ColumnType]) -> None:
        self._columns = [(name, kind, CONVERSIONS[kind]) for name, kind in types.items()]

    def convert(self, row: dict[str, Any]) -> str:
        """Convert the values in place; return what does not fit, which stays unchanged."""
        problems = ""
        for name, kind, conversion in self._columns:
            value = row.get(name)
            if value is None:
                continue
            try:
                row[name] = conversion(value)
            except (ValueError, RecursionError):
                if type(value) is float and math.isnan(value):
                    continue
                got = _describe_value(value)
                problem = f"`{name}`: expected {_EXPECTED[kind]}, got {got}"
                problems = f"{problems}; {problem}" if problems else problem
        return problems


def _describe_value(value: Any) -> str:
    if isinstance(value, str):
        shown = value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}…"
        return f"`{shown}`" if shown.isprintable() else ascii(shown)
    if isinstance(value, bool | int | float):
        return f"`{msgspec.json.encode(value).decode()}`"
    return describe_type(value)


def _to_string(value: Any) -> str:
    if type(value) is str:
        return value
    raise ValueError


def _to_int(value: Any) -> int:
    if type(value) is str and _INTEGER.fullmatch(text := value.strip()):
        return int(text.partition(".")[0])
    if type(value) is int or (type(value) is float and value.is_integer()):
        return int(value)
    raise ValueError


def _to_float(value: Any) -> float:
    if type(value) is str and _FLOAT.fullmatch(text := value.strip()):
        return float(text)
    if type(value) in {int, float}:
        return float(value)
    raise ValueError


def _to_bool(value: Any) -> bool:
    if type(value) is str and (text := value.strip().lower()) in {"true", "false"}:
        return text == "true"
    if type(value) is bool:
        return value
    raise ValueError


def _to_date(value: Any) -> str:
    if type(value) is str and _DATE.fullmatch(text := value.strip()):
        return date.fromisoformat(text).isoformat()
    raise ValueError


def _to_datetime(value: Any) -> str:
    if type(value) is str and _DATETIME.fullmatch(text := value.strip()):
        return datetime.fromisoformat(text).isoformat()
    raise ValueError


def _to_json(value: Any) -> Any:
    return msgspec.json.decode(value) if type(value) is str else value


def _to_list(value: Any) -> list[Any]:
    if type(value := _to_json(value)) is list:
        return value
    raise ValueError


def _to_object(value: Any) -> dict[str, Any]:
    if type(value := _to_json(value)) is dict:
        return value
    raise ValueError


CONVERSIONS: Mapping[ColumnType, Conversion] = {
    "string": _to_string,
    "int": _to_int,
    "float": _to_float,
    "bool": _to_bool,
    "date": _to_date,
    "datetime": _to_datetime,
    "list": _to_list,
    "object": _to_object,
    "json": _to_json,
}
"""By type, a function that returns the converted value or raises ValueError."""
