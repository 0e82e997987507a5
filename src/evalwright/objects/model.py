"""Classes with declared fields: the annotations of a class are its fields, as in pydantic.

    class Verdict(LFBaseModel):
        score: float
        reason: str = ""

    Verdict(score=1)                        checks names and types; ValueError lists what is wrong
    Verdict.model_validate({"score": 1})    the same for data: unknown fields are kept
    Verdict.from_json({"score": 1})         wraps JSON without a check, part by part when it is read

An author's misspelt field is a mistake. A field that an endpoint adds to a message, such as
`session_id`, is kept: it arrives as data, and goes back with the next turn.

`LFBaseModel` keeps its values as attributes, which are also keys. `JsonModel` is a dict whose keys
are also attributes: what comes from a model, and what a trace consists of. Both remember which
fields were given: `model_dump()` has these alone, `model_dump_include_unset()` has all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from enum import Enum
from operator import itemgetter
from typing import Any, ClassVar, Self

from .fields import REQUIRED, Fields
from .record import Record, plain, wrap

_new = dict.__new__


class MissingField(KeyError, AttributeError):
    """A field that is not there, whichever way it is read."""


class _UnreadField:
    """Reads a field that is not an attribute of its object yet."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        return self if model is None else model.__getattr__(self._name)


class LFBaseModel:
    """An object with declared fields."""

    _fields: ClassVar[Fields] = Fields(object)
    _views: ClassVar[tuple[str, ...]] = ()
    """Properties that are keys too."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls._fields = Fields(cls, cls._fields)
        for name in vars(cls).get("__annotations__", {}):
            if name in cls._fields:
                setattr(cls, name, _UnreadField(name))

    def __init__(self, /, *values: Any, **fields: Any) -> None:
        given = {**dict(zip(self._fields, values, strict=False)), **fields}
        if len(values) > len(self._fields):
            raise ValueError(f"{type(self).__name__}: expected at most {len(self._fields)} values")
        checked = self._fields.check(type(self).__name__, given, keep_unknown=False)
        for name, value in checked.items():
            setattr(self, name, value)
        self.model_post_init(None)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Of JSON, which is not checked and wrapped when it is read."""
        model = cls.__new__(cls)
        values = model.__dict__
        values.update(data)
        unread = {}
        for name in cls._fields.wrappers:
            if name in values:
                unread[name] = values.pop(name)
        values["_unread"] = unread
        return model

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Of an object of this class, or of data; ValueError lists what is wrong with it."""
        if isinstance(obj, cls):
            return obj
        name = cls.__name__
        if not isinstance(obj, Mapping):
            raise ValueError(f"{name}: expected an object, got `{type(obj).__name__}`")  # noqa: TRY004 - data of the wrong shape
        model = cls.from_json(cls._fields.check(name, obj, keep_unknown=True))
        model.model_post_init(None)
        return model

    @classmethod
    def model_validate_json(cls, json_data: str | bytes, **_: Any) -> Self:
        """The same, of JSON text."""
        return cls.model_validate(json.loads(json_data))

    def model_post_init(self, context: Any, /) -> None:
        """Called when an object was constructed or validated; does nothing here."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; `update` replaces fields, without a check."""
        values = {**self._set_values(), **(update or {})}
        return self.from_json(deepcopy(values) if deep else values)

    def model_dump(
        self,
        *,
        mode: str = "python",
        include: Collection[str] | None = None,
        exclude: Collection[str] | None = None,
        exclude_unset: bool = True,
        exclude_defaults: bool = False,
        exclude_none: bool = False,
        **ignored: Any,
    ) -> dict[str, Any]:
        """A dict of builtin types; with `mode="json"`, dates and enums are text.

        Fields that were not given are left out, unless `exclude_unset` is false.
        """
        inner = {
            "mode": mode,
            "exclude_unset": exclude_unset,
            "exclude_none": exclude_none,
            "exclude_defaults": exclude_defaults,
            **ignored,
        }
        values = self._set_values() if exclude_unset else self._all_values()
        return {
            name: _dump(value, inner)
            for name, value in values.items()
            if (include is None or name in include)
            and (exclude is None or name not in exclude)
            and not (exclude_none and value is None)
            and not (exclude_defaults and value == self._fields.get(name, REQUIRED))
        }

    def model_dump_include_unset(self, **options: Any) -> dict[str, Any]:
        """The same, with all fields."""
        return self.model_dump(**{**options, "exclude_unset": False})

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """JSON text of the fields that were given."""
        separators = (",", ":") if indent is None else None
        dumped = self.model_dump(**{**options, "mode": "json"})
        return json.dumps(dumped, ensure_ascii=False, indent=indent, separators=separators)

    def model_dump_json_include_unset(self, **options: Any) -> str:
        """JSON text of all fields."""
        return self.model_dump_json(**{**options, "exclude_unset": False})

    def to_json(self) -> dict[str, Any]:
        """Plain JSON of all fields."""
        return {name: plain(value) for name, value in self._all_values().items()}

    def _set_values(self) -> dict[str, Any]:
        """The fields that have a value, and what was added to them."""
        held = [*self.__dict__.get("_unread", ()), *self.__dict__]
        names = dict.fromkeys(name for name in (*self._fields, *held) if name in held)
        return {name: getattr(self, name) for name in names if not name.startswith("_")}

    def _peek(self, name: str) -> Any:
        """The value of a field as it was given, not wrapped; None where it was not."""
        unread = self.__dict__.get("_unread", {})
        return unread[name] if name in unread else self.__dict__.get(name)

    def _all_values(self) -> dict[str, Any]:
        """All fields with their values or defaults; without those that have neither."""
        given = self._set_values()
        known = {
            name: given[name] if name in given else self._wrap(name, self._fields.default(name))
            for name, default in self._fields.items()
            if name in given or default is not REQUIRED
        }
        return {**known, **given}

    def __getattr__(self, name: str) -> Any:
        """Read what is not an attribute yet: wrap JSON, or take the default."""
        unread = self.__dict__.get("_unread")
        default = self._fields.get(name, REQUIRED)
        if unread and name in unread:
            value = self._wrap(name, unread.pop(name))
        elif default is not REQUIRED:
            kind = type(default)
            if kind is not list and kind is not dict:
                return default
            value = self._wrap(name, kind(default))
        else:
            known = ", ".join(f"`{key}`" for key in self.keys())
            raise AttributeError(f"expected one of {known or 'no fields'}, got `{name}`")
        self.__dict__[name] = value
        return value

    def _wrap(self, name: str, value: Any) -> Any:
        wrapper = self._fields.wrappers.get(name)
        return value if wrapper is None else wrapper(value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._fields and (type(value) is dict or type(value) is list):
            self.__dict__.pop(name, None)
            self.__dict__.setdefault("_unread", {})[name] = value
        else:
            super().__setattr__(name, value)

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """The names of the fields, and of what was added to them."""
        held = (*self.__dict__.get("_unread", ()), *self.__dict__)
        names = (*self._fields, *self._views, *(name for name in held if name[0] != "_"))
        return list(dict.fromkeys(names))

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, or `default` where there is none of that name."""
        return getattr(self, name) if name in self.keys() else default

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LFBaseModel) or not isinstance(other, type(self)):
            return NotImplemented
        return self._all_values() == other._all_values()

    __hash__ = None  # type: ignore[assignment] # it can change

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self._set_values().items())
        return f"{type(self).__name__}({inside})"


class JsonModel(Record, LFBaseModel):  # type: ignore[misc] # its keys are those of the dict
    """A JSON object with declared fields."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        known = vars(sys.modules[cls.__module__])
        for name, annotation in vars(cls).get("__annotations__", {}).items():
            if name in cls._fields:
                kind = known.get(str(annotation).partition(" ")[0])
                is_enum = isinstance(kind, type) and issubclass(kind, Enum)
                setattr(
                    cls, name, property(_member_of(kind, name) if is_enum else itemgetter(name))
                )

    def __init__(self, data: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Of fields, which are checked; or of JSON, which is not."""
        if data is None:
            fields = self._fields.check(type(self).__name__, fields, keep_unknown=False)
        super().__init__(data or {}, **fields)
        self.model_post_init(None)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Of JSON, which is not checked and wrapped when it is read."""
        model = _new(cls)
        model.update(data)
        return model

    def __missing__(self, name: str) -> Any:
        default = self._fields.get(name, REQUIRED)
        if default is REQUIRED:
            raise MissingField(name)
        if isinstance(default, list | dict):
            return self.setdefault(name, type(default)(default))
        return default

    def _wrap(self, name: str, value: Any) -> Any:
        return self._fields.wrappers.get(name, wrap)(value)

    def _set_values(self) -> dict[str, Any]:
        return {name: self[name] for name in self}

    def __eq__(self, other: object) -> bool:
        equal = super().__eq__(other)
        return (
            self._all_values() == other._all_values()
            if not equal and isinstance(other, JsonModel)
            else equal
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[misc] # it can change
    to_json = Record.to_json
    model_dump = LFBaseModel.model_dump


def _member_of(kind: Any, name: str) -> Any:
    """Read a field as a member of its enum; what is none of them, as it is."""

    def read(record: Any) -> Any:
        value = record[name]
        return kind(value) if value in kind.__members__.values() else value

    return read


def _dump(value: Any, options: Mapping[str, Any]) -> Any:
    if isinstance(value, LFBaseModel):
        return value.model_dump(**options)
    if isinstance(value, dict):
        return {key: _dump(inner, options) for key, inner in dict.items(value)}
    if isinstance(value, list | tuple):
        return [_dump(element, options) for element in value]
    if hasattr(value, "to_json") or options["mode"] == "json":
        return plain(value)
    return value
