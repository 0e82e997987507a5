"""JSON that can be read both ways: `message["role"]` and `message.role`.

Nested values are wrapped when first read, so that creating a record costs no more than a copy
of its top level. A record is a dict: it compares, prints and encodes as one.
"""

from __future__ import annotations

from datetime import date
from enum import Enum
from types import NoneType
from typing import Any

_get = dict.__getitem__  # it runs for every read: `super()` would cost as much again
_SCALARS = frozenset({str, int, float, bool, NoneType})


class Record(dict[str, Any]):
    """A JSON object whose keys are also attributes."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        there = ", ".join(f"`{key}`" for key in self)
        raise AttributeError(f"expected one of {there or 'no fields'}, got `{name}`")

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __getitem__(self, name: str) -> Any:
        value = _get(self, name)
        kind = type(value)
        if kind is dict or kind is list:
            value = self._wrap(name, value)
            self[name] = value
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a key, or `default` if missing."""
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`

    def values(self) -> Any:
        """Return the values of the dict, wrapped."""
        self._wrap_all()
        return super().values()

    def items(self) -> Any:
        """Return the items of the dict, wrapped."""
        self._wrap_all()
        return super().items()

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict, at all depths."""
        return {key: plain(value) for key, value in dict.items(self)}

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """The same as `to_json`."""
        return self.to_json()

    def _wrap(self, name: str, value: Any) -> Any:  # noqa: ARG002 - some keys are special in some records
        return wrap(value)

    def _wrap_all(self) -> None:
        for name in self:
            self[name]


class Records(list[Any]):
    """A JSON array whose objects are records."""


def wrap(value: Any) -> Any:
    """Return the value with its objects as records; other values are unchanged."""
    if type(value) is dict:
        return Record(value)
    if type(value) is list:
        return Records(  # most elements are scalars: they are not worth a call
            [
                wrap(inner) if type(inner) is dict or type(inner) is list else inner
                for inner in value
            ]
        )
    return value


def plain(value: Any) -> Any:
    """Return the value with only builtin types, at all depths."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in dict.items(value)}
    if isinstance(value, list | tuple):
        return [plain(element) for element in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    to_json = getattr(value, "to_json", None)
    return value if to_json is None else to_json()


def changes(method: Any) -> Any:
    """Mark a method that changes its object: a template may not call it."""
    method.alters_data = True
    return method
