"""JSON that can be read both ways: `message["role"]` and `message.role`.

Nested values are wrapped when first read, so that creating a record costs no more than a copy
of its top level. A record is a dict: it compares, prints and encodes as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar


class Record(dict[str, Any]):
    """A JSON object whose keys are also attributes. Unknown keys are kept."""

    optional: ClassVar[frozenset[str]] = frozenset()
    """Keys that are None if missing."""

    def __getattr__(self, name: str) -> Any:
        if name in self or name in self.optional:
            return self[name]
        there = ", ".join(f"`{key}`" for key in self)
        raise AttributeError(f"expected one of {there or 'no fields'}, got `{name}`")

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if type(value) is dict or type(value) is list:
            value = self._wrap(name, value)
            super().__setitem__(name, value)
        return value

    def __missing__(self, name: str) -> Any:
        if name in self.optional:
            return None
        raise KeyError(name)

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

    def model_dump(self) -> dict[str, Any]:
        """The same as `to_json`."""
        return self.to_json()

    def _wrap(self, name: str, value: Any) -> Any:  # noqa: ARG002 - some keys are special in some records
        return wrap(value)

    def _wrap_all(self) -> None:
        for name in self:
            self[name]


class Records(list[Any]):
    """A JSON array whose objects are records."""


class Keyed:
    """Attributes that are also keys: the reverse, for classes that are not JSON objects."""

    fields: ClassVar[tuple[str, ...]] = ()
    """The attributes that are keys."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.fields:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.fields

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def keys(self) -> list[str]:
        """The names of the fields."""
        return list(self.fields)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a field, or `default` if there is none."""
        return getattr(self, name) if name in self.fields else default

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, at all depths."""
        return {name: plain(getattr(self, name)) for name in self.fields}

    def model_dump(self) -> dict[str, Any]:
        """The same as `to_json`."""
        return self.to_json()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment] # it can change

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.fields)
        return f"{type(self).__name__}({inside})"


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
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in dict.items(value)}
    if isinstance(value, list | tuple):
        return [plain(element) for element in value]
    to_json = getattr(value, "to_json", None)
    return value if to_json is None else to_json()


def changes(method: Any) -> Any:
    """Mark a method that changes its object: a template may not call it."""
    method.alters_data = True
    return method
