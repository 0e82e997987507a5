"""What stands in the evaluator for an instance of a subclass of a builtin, such as a named tuple.

It is that builtin here, with the value that came. Comparison and arithmetic are the builtin's, run
by our own code, except between two objects of the candidate's. Methods that the subclass has
redefined, and attributes that the builtin lacks, are the candidate's. What can change is fetched
each time, and changed over there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import proxies

if TYPE_CHECKING:
    from .link import Link

_FIXED = (int, float, complex, str, bytes, tuple, frozenset)
_MUTABLE = (list, dict, set, bytearray)
# Left as the builtin has them: how an object is made, and what Python asks of every one.
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
_ARITHMETIC = frozenset({
    "__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__",
    "__and__", "__or__", "__xor__",
})  # fmt: skip
_COMPARISONS = {"__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">",
                "__ge__": ">="}  # fmt: skip
_FORWARDED = frozenset({"__call__", "__enter__", "__getitem__"})


def _attribute(self: Any, name: str) -> Any:
    if name[:2] == "__" or name in {"_p_there", "_p_link", "_p_name"}:
        raise AttributeError(name)
    return self._p_link.ask("attr", self, name)


def _set_attribute(self: Any, name: str, value: Any) -> None:
    self._p_link.ask("setattr", self, name, value)


def _refresh(self: Any) -> None:
    base: Any = next(kind for kind in _MUTABLE if isinstance(self, kind))
    now: Any = proxies.require_answer(self._p_link, "base", base, self._p_link.ask("base", self))
    base.clear(self)
    (base.update if base in {dict, set} else base.extend)(self, now)


def _make_read(base: Any, name: str) -> Callable[..., Any]:
    plain = getattr(base, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for each in (self, *args):
            if getattr(type(each), "_p_live", False):
                _refresh(each)
        return plain(self, *args, **kwargs)

    return method


def _make_change(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._p_link.ask("method", self, name, args, kwargs)

    return method


def _make_arithmetic(base: Any, name: str) -> Callable[..., Any]:
    """Between two objects of the candidate's, the candidate's; with a value, the builtin's."""
    plain = getattr(base, name, None)

    def method(self: Any, other: Any) -> Any:
        if proxies.candidate_form(other) is not None:
            return self._p_link.ask("binary", name.strip("_"), self, other)
        return NotImplemented if plain is None else plain(self, other)

    return method


def _make_comparison(base: Any, name: str) -> Callable[..., Any]:
    plain = getattr(base, name)

    def method(self: Any, other: Any) -> Any:
        if proxies.candidate_form(other) is not None:
            answer = self._p_link.ask("compare", name.strip("_"), self, other)
            return proxies.require_type(bool, answer)
        if type(self)._p_live:  # noqa: SLF001 - a class of this module's
            _refresh(self)
        self._p_link.note = proxies.explain(_COMPARISONS[name], type(self).__name__)
        return plain(self, other)

    return method


def make_class(base: Any, name: str, redefined: list[Any]) -> type:
    """A class for a subclass of `base` that has redefined these methods."""
    members: dict[str, Any] = {
        "__getattr__": _attribute,
        "__setattr__": _set_attribute,
        "__str__": proxies.forward("str", str),
        "__repr__": proxies.forward("repr", str),
        "__hash__": base.__hash__,
        "_p_live": base in _MUTABLE,
    }
    if base is dict:
        members["__missing__"] = proxies.forward("getitem")
    if base in _MUTABLE:
        for each in set(dir(base)) - _LEFT_ALONE:
            if callable(getattr(base, each)):
                members[each] = _make_change(each) if each in _CHANGES else _make_read(base, each)
    for each in redefined:
        if type(each) is str and (method := _make_redefined(base, each)):
            members[each] = method
    return type(proxies.clean_name(name), (base,), members)


def _make_redefined(base: Any, name: str) -> Callable[..., Any] | None:
    """A method that the subclass has redefined; None for one that stays as the builtin has it."""
    if name in {"__str__", "__repr__"}:
        return None
    if name in _COMPARISONS:
        return _make_comparison(base, name)
    if name in _ARITHMETIC:
        return _make_arithmetic(base, name)
    if name == "__exit__":
        return proxies.exit_block
    if name in _FORWARDED or name[:1] != "_":
        return _make_change(name)
    # One that the builtin lacks is asked for as of any other object.
    return None if hasattr(base, name) else proxies.METHODS.get(name)


def make_value(link: Link, number: int, base: Any, kind: Any) -> Any:
    """Make a builtin value for the object that the candidate knows by that number."""
    value = kind.__new__(kind) if type(base) in _MUTABLE else _make_constant(kind, base)
    value.__dict__.update(_p_link=link, _p_there=["h", number], _p_name=kind.__name__)
    return value


def _make_constant(kind: Any, base: Any) -> Any:
    """An instance of `kind` with the value of `base`."""
    return type(base).__new__(kind, base)


BASES = (*_FIXED, *_MUTABLE)
