"""Values of the standard library and of numpy that both sides can make: taken apart, put together.

A closed list, made of builtins only. Whatever does not fit is a TypeError or a ValueError.
"""

from __future__ import annotations

import collections
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CONTAINERS: dict[type, str] = {
    collections.Counter: "Counter",
    collections.OrderedDict: "OrderedDict",
    collections.defaultdict: "defaultdict",
    collections.deque: "deque",
}
# Their modules are not loaded before somebody needs them.
_VALUES = {
    "datetime": frozenset({"date", "datetime", "time", "timedelta", "timezone"}),
    "decimal": frozenset({"Decimal"}),
    "fractions": frozenset({"Fraction"}),
}
_DTYPE = re.compile(r"[<>|=]?[biufc]\d{1,2}")


def name_of(value: Any) -> str | None:
    """Its class, if that is on the list."""
    kind = type(value)
    if kind.__name__ not in _VALUES.get(kind.__module__, ()):
        return None
    found = getattr(sys.modules.get(kind.__module__), kind.__name__, None)
    return kind.__name__ if found is kind else None


def flat(pairs: dict[Any, Any]) -> list[Any]:
    """Keys and values in turn."""
    return [part for pair in pairs.items() for part in pair]


def _clock(value: Any) -> list[Any]:
    if value.tzinfo is not None and name_of(value.tzinfo) != "timezone":
        raise ValueError("a zone that is not a fixed one")
    return [
        *(value.hour, value.minute, value.second, value.microsecond),
        *(value.fold, value.tzinfo),
    ]


PARTS: dict[str, Callable[[Any], Any]] = {
    "Counter": flat,
    "OrderedDict": flat,
    "defaultdict": lambda value: [value.default_factory, *flat(value)],
    "deque": lambda value: [value.maxlen, *value],
    "date": lambda value: [value.year, value.month, value.day],
    "datetime": lambda value: [value.year, value.month, value.day, *_clock(value)],
    "time": _clock,
    "timedelta": lambda value: [value.days, value.seconds, value.microseconds],
    "timezone": lambda value: [value.utcoffset(None)],
    "Decimal": lambda value: [str(value)],
    "Fraction": lambda value: [value.numerator, value.denominator],
}


def made(name: str, parts: list[Any]) -> Any:
    """The value of those parts."""
    (module,) = [module for module, names in _VALUES.items() if name in names]
    kind = getattr(__import__(module), name)
    if name == "timezone":
        (offset,) = parts
        return kind(offset)
    if name in {"datetime", "time"}:
        *numbers, fold, zone = parts
        _check(int, numbers)
        return kind(*numbers, zone, fold=fold)
    _check(str if name == "Decimal" else int, parts)
    return kind(*parts)


def empty(name: str, first: Any) -> Any:
    """A container of that class without anything in it; `first` is what only some have."""
    match name:
        case "Counter":
            return collections.Counter()
        case "OrderedDict":
            return collections.OrderedDict()
        case "defaultdict":
            return collections.defaultdict(first)
        case "deque":
            return collections.deque(maxlen=first)
    raise ValueError("a container of no class")


def split(name: str, parts: list[Any]) -> tuple[Any, list[Any]]:
    """What only some containers have, and what is in them."""
    if name in {"defaultdict", "deque"}:
        first, *rest = parts
        return first, rest
    return None, parts


def _check(kind: type, parts: list[Any]) -> None:
    if any(type(part) is not kind for part in parts):
        raise TypeError(f"it is made of `{kind.__name__}`")


def is_array(value: Any) -> bool:
    """Whether it is an array of numbers."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and _is_plain(value.dtype)


def is_number(value: Any) -> bool:
    """Whether it is a single number of numpy's."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic) and _is_plain(value.dtype)


def _is_plain(dtype: Any) -> bool:
    return _DTYPE.fullmatch(dtype.str) is not None


def array_parts(value: Any) -> list[Any]:
    """Kind of number, shape, bytes."""
    return [value.dtype.str, list(value.shape), value.tobytes().decode("latin-1")]


def array(parts: list[Any]) -> Any:
    """The array of those parts."""
    dtype, shape, text = parts
    if type(dtype) is not str or _DTYPE.fullmatch(dtype) is None:
        raise ValueError("an array of something else than numbers")
    _check(int, shape)
    if min(shape, default=0) < 0:
        raise ValueError("an array of no size")
    numpy = _numpy()
    return numpy.frombuffer(text.encode("latin-1"), dtype).reshape(shape).copy()


def _numpy() -> Any:
    from . import packages

    if "numpy" not in packages.NAMES and sys.modules.get("numpy") is None:
        raise ValueError("an array, where there is no numpy")
    return __import__("numpy")
