"""Anything that a library calls a value, as JSON would have it."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

_AS_THEY_ARE = (bool, int, float, str, type(None))


def plain_row(row: Any) -> dict[str, Any]:
    """A row with names for its columns and JSON in them; ValueError says which has none."""
    made = {}
    for name, value in row.items():
        try:
            made[str(name)] = plain(value)
        except ValueError as error:
            raise ValueError(f"column `{name}`: {error}") from error
    return made


def plain(value: Any) -> Any:
    """Lists, dicts, texts, numbers, truth values and None; ValueError if it is none of them."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, str):  # a text that knows its place in a document
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        whole = value.is_finite() and value == value.to_integral_value()
        return int(value) if whole else float(value)
    if isinstance(value, UUID):
        return str(value)
    return _foreign(value)


def _foreign(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"expected text, got {len(value)} bytes that are none") from None
    if callable(listed := getattr(value, "tolist", None)):  # numpy's arrays and numbers
        return plain(listed())
    raise ValueError(f"expected JSON, got a `{type(value).__name__}`")
