"""Builtins with a class of the candidate's behind them: named tuples, numbered names, odd lists.

In all their operators they are the builtin, by our own code. Attributes that the builtin does not
have are the candidate's. What can change is looked at anew each time, and changed over there.
"""

from __future__ import annotations

from .proxies import exactly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .link import Link

_FIXED = (int, float, complex, str, bytes, tuple, frozenset)
_MUTABLE = (list, dict, set, bytearray)
# Not looked at anew: how an object is made, and what Python asks of every one.
_LEFT_ALONE = frozenset({
    "__class__", "__class_getitem__", "__delattr__", "__dir__", "__doc__", "__format__",
    "__getattribute__", "__getstate__", "__hash__", "__init__", "__init_subclass__", "__new__",
    "__reduce__", "__reduce_ex__", "__repr__", "__setattr__", "__sizeof__", "__str__",
    "__subclasshook__",
})  # fmt: skip
_CHANGES = frozenset({
    "__delitem__", "__iadd__", "__iand__", "__imul__", "__ior__", "__isub__", "__ixor__",
    "__setitem__", "add", "append", "clear", "difference_update", "discard", "extend", "insert",
    "intersection_update", "pop", "popitem", "remove", "reverse", "setdefault", "sort",
    "symmetric_difference_update", "update",
})  # fmt: skip


def _attribute(self: Any, name: str) -> Any:
    if name[:2] == "__" or name in {"_there", "_link"}:
        raise AttributeError(name)
    return self._link.ask("attr", self, name)


def _missing(self: Any, key: Any) -> Any:
    return self._link.ask("getitem", self, key)


def _text(self: Any) -> str:
    return exactly(str, self._link.ask("str", self))


def _written(self: Any) -> str:
    return exactly(str, self._link.ask("repr", self))


def _look(self: Any) -> None:
    """Hold what the candidate's object holds now."""
    base: Any = type(self).__bases__[0]
    now: Any = exactly(base, self._link.ask("base", self))
    base.clear(self)
    (base.update if base in {dict, set} else base.extend)(self, now)


def _looking(base: Any, name: str) -> Callable[..., Any]:
    plain = getattr(base, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for each in (self, *args):
            if type(each) in _LIVE:
                _look(each)
        return plain(self, *args, **kwargs)

    return method


def _changing(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._link.ask("method", self, name, args, kwargs)

    return method


def _class(base: Any) -> type:
    members: dict[str, Any] = {"__getattr__": _attribute, "__str__": _text, "__repr__": _written}
    if base is dict:
        members["__missing__"] = _missing
    if base in _MUTABLE:
        for name in set(dir(base)) - _LEFT_ALONE:
            if callable(getattr(base, name)):
                members[name] = _changing(name) if name in _CHANGES else _looking(base, name)
        members["__hash__"] = None
    return type(f"candidate's {base.__name__}", (base,), members)


_CLASSES: dict[type, type] = {base: _class(base) for base in (*_FIXED, *_MUTABLE)}
_LIVE = frozenset(_CLASSES[base] for base in _MUTABLE)


def valued(link: Link, number: int, name: str, base: Any) -> Any:
    """For the object that the candidate knows by that number."""
    del name
    kind: Any = _CLASSES.get(type(base))
    if kind is None:
        raise TypeError("a value of no base")
    value = kind.__new__(kind) if type(base) in _MUTABLE else kind(base)
    value.__dict__.update(_link=link, _there=["h", number])
    return value
