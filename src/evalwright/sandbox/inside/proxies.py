"""Proxies in the evaluator for what the candidate has: objects, values, exceptions.

Objects     A question with a plain answer (an attribute, a call, `len`, an item) goes to the
            candidate. A question whose answer would be the verdict itself (`==` of two such
            objects, `<`, `+`) is not asked: the target then has no verdict.
Values      Builtins with a class of the candidate's behind them, such as named tuples. Their
            operators are the builtin's, run by our own code. Attributes that the builtin lacks are
            the candidate's. What can change is fetched each time, and changed over there.
Exceptions  A builtin one is the same here. A class of the candidate's own becomes a class here with
            the same bases, so that `except` finds it; its attributes are asked for. One of the
            standard library is the library's, if its module does no more than look at values.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from . import judging, values

if TYPE_CHECKING:
    from .link import Link

T = TypeVar("T")

MAX_NAME = 80
# Names with underscores that say something of an object, and have nothing done.
_FACTS = frozenset({
    "__abstractmethods__", "__all__", "__annotations__", "__bases__", "__dataclass_fields__",
    "__defaults__", "__dict__", "__kwdefaults__", "__match_args__", "__members__", "__mro__",
    "__name__", "__qualname__", "__version__",
})  # fmt: skip
_ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "divmod": "divmod", "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_REFUSED = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "neg": "-", "pos": "+", "invert": "~",
    "abs": "abs", "round": "round", "trunc": "trunc", "floor": "floor", "ceil": "ceil",
    **_ARITHMETIC,
}  # fmt: skip
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
_BUILTINS = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_LIBRARY = frozenset({
    "asyncio.exceptions", "binascii", "calendar", "copy", "dataclasses", "decimal", "json.decoder",
    "re", "re._constants", "statistics", "struct", "zlib",
})  # fmt: skip
_MOST_BASES = 20


def candidate_form(value: Any) -> list[Any] | None:
    """The form by which the candidate knows an object of its own; None for anything else."""
    if isinstance(value, type):
        number = value.__dict__.get("_number")
        return None if number is None else ["h", number]
    try:
        form: list[Any] = object.__getattribute__(value, "_there")
    except AttributeError:
        return None
    return form


def require_type(kind: type[T], value: Any) -> T:
    """Return a plain value of exactly that type; TypeError for any other."""
    if type(value) is not kind:
        raise TypeError(f"the candidate gave a `{type(value).__name__}` for a `{kind.__name__}`")
    return value


def _forward(verb: str, kind: type | None = None) -> Callable[..., Any]:
    """A method that asks the candidate, and takes an answer of type `kind` only."""

    def method(self: Any, *args: Any) -> Any:
        answer = self._link.ask(verb, self, *args)
        return answer if kind is None else require_type(kind, answer)

    return method


def _forward_attribute(name: str) -> property:
    return property(lambda self: self._link.ask("attr", self, name))


class Proxy:
    """An object that stays with the candidate."""

    # What a candidate's object has of its own starts at `__getattr__`.
    __slots__ = ("__weakref__", "_alike", "_link", "_name", "_there")

    def __init__(self, link: Link, form: list[Any], name: str, *, alike: bool) -> None:
        put = object.__setattr__
        put(self, "_link", link)
        put(self, "_there", form)
        put(self, "_name", name)
        put(self, "_alike", alike)

    def __getattr__(self, name: str) -> Any:
        if name in Proxy.__slots__ or (name[:2] == "__" and name not in _FACTS):
            # It is still being made, or Python and libraries would do as the attribute says.
            raise AttributeError(name)
        return self._link.ask("attr", self, name)

    __setattr__ = _forward("setattr")
    __delattr__ = _forward("delattr")
    __iter__ = _forward("iter")
    __next__ = _forward("next")
    __reversed__ = _forward("reversed")
    __getitem__ = _forward("getitem")
    __setitem__ = _forward("setitem")
    __delitem__ = _forward("delitem")
    __enter__ = _forward("enter")
    __copy__ = _forward("copy")
    __format__ = _forward("format", str)
    __len__ = _forward("len", int)
    __bool__ = _forward("bool", bool)
    __str__ = _forward("str", str)
    __repr__ = _forward("repr", str)
    __int__ = _forward("int", int)
    __index__ = _forward("index", int)
    __float__ = _forward("float", float)
    __complex__ = _forward("complex", complex)
    __dir__ = _forward("dir", list)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it over there."""
        return self._link.ask("call", self, args, kwargs)

    def __deepcopy__(self, memo: object) -> Any:
        return self._link.ask("deepcopy", self)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        error = None if kind is None else make_wordless(kind)
        if self._link.ask("exit", self, error) and kind is not None:
            raise self._link.distrust(_explain_refusal("with", self._name))

    def __contains__(self, value: Any) -> bool:
        """Whether an item is equal, by our own `==`."""
        try:
            items = iter(self)
        except TypeError:
            raise self._link.distrust(_explain_refusal("in", self._name)) from None
        return any(item is value or item == value for item in items)

    def __instancecheck__(self, value: Any) -> bool:
        return _is_theirs(value) and bool(self._link.ask("isinstance", value, self))

    def __subclasscheck__(self, value: Any) -> bool:
        return _is_theirs(value) and bool(self._link.ask("issubclass", value, self))

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        raise self._link.distrust(f"a class of `{self._name}` cannot be derived here")

    def __hash__(self) -> int:
        # The same for all with an `==` of their own: so they are compared, and refused.
        return hash(tuple(self._there)) if self._alike else 0

    def __eq__(self, other: object) -> bool:
        form = candidate_form(other)
        if form is None or not isinstance(other, Proxy):
            return False
        if form == self._there:
            return True
        if self._alike and other._alike:
            return False
        raise self._link.distrust(_explain_refusal("==", self._name))

    def __ne__(self, other: object) -> bool:
        return not self == other


def _is_theirs(value: Any) -> bool:
    """Nothing of ours is an instance of a class of theirs, whatever that class says."""
    return candidate_form(value) is not None


def _explain_refusal(sign: str, name: str) -> str:
    return (
        f"`{sign}` of a `{name}` would run the candidate's own code: "
        "compare what its methods and attributes return"
    )


def _refuse(sign: str) -> Callable[..., Any]:
    def method(self: Proxy, *_: object) -> Any:
        raise self._link.distrust(_explain_refusal(sign, self._name))

    return method


for _name, _sign in _REFUSED.items():
    setattr(Proxy, f"__{_name}__", _refuse(_sign))
for _name, _sign in _ARITHMETIC.items():
    setattr(Proxy, f"__r{_name}__", _refuse(_sign))
    setattr(Proxy, f"__i{_name}__", _refuse(_sign))
for _name in ("__doc__", "__module__"):
    setattr(Proxy, _name, _forward_attribute(_name))


def _value_attribute(self: Any, name: str) -> Any:
    if name[:2] == "__" or name in {"_there", "_link"}:
        raise AttributeError(name)
    return self._link.ask("attr", self, name)


def _refresh(self: Any) -> None:
    base: Any = type(self).__bases__[0]
    now: Any = require_type(base, self._link.ask("base", self))
    base.clear(self)
    (base.update if base in {dict, set} else base.extend)(self, now)


def _make_read(base: Any, name: str) -> Callable[..., Any]:
    plain = getattr(base, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for each in (self, *args):
            if type(each) in _LIVE:
                _refresh(each)
        return plain(self, *args, **kwargs)

    return method


def _make_change(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._link.ask("method", self, name, args, kwargs)

    return method


def _make_class(base: Any) -> type:
    members: dict[str, Any] = {
        "__getattr__": _value_attribute,
        "__str__": _forward("str", str),
        "__repr__": _forward("repr", str),
    }
    if base is dict:
        members["__missing__"] = _forward("getitem")
    if base in _MUTABLE:
        for name in set(dir(base)) - _LEFT_ALONE:
            if callable(getattr(base, name)):
                members[name] = _make_change(name) if name in _CHANGES else _make_read(base, name)
        members["__hash__"] = None
    return type(f"candidate's {base.__name__}", (base,), members)


_CLASSES: dict[type, type] = {base: _make_class(base) for base in (*_FIXED, *_MUTABLE)}
_LIVE = frozenset(_CLASSES[base] for base in _MUTABLE)


def make_value(link: Link, number: int, base: Any) -> Any:
    """Make a builtin value for the object that the candidate knows by that number."""
    kind: Any = _CLASSES.get(type(base))
    if kind is None:
        raise TypeError("a value of no base")
    value = kind.__new__(kind) if type(base) in _MUTABLE else kind(base)
    value.__dict__.update(_link=link, _there=["h", number])
    return value


class Exceptions:
    """Those of one candidate."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._classes: dict[int, type[BaseException]] = {}

    def find_class(self, form: list[Any]) -> type[BaseException]:
        """A class of ours for one of the candidate's."""
        number, name, base, bases, module = form
        if type(name) is not str or type(base) is not str or type(bases) is not list:
            raise values.BadValue("no exception class")
        if number is None:
            return _BUILTINS[name]
        if type(number) is not int or len(bases) > _MOST_BASES:
            raise values.BadValue("no exception class")
        if number not in self._classes:
            parents = tuple(self.find_class(each[1:]) for each in bases)
            parents = parents or (_BUILTINS.get(base, Exception),)
            kind = _find_library_class(module, name) or self._make_class_of(number, name, parents)
            self._classes[number] = kind
        return self._classes[number]

    def _make_class_of(
        self, number: int, name: str, parents: tuple[type[BaseException], ...]
    ) -> type[BaseException]:
        clean = name[:MAX_NAME] if name.isidentifier() else "CandidateError"
        members = {
            "_number": number,
            "_link": self._link,
            "__new__": _construct,
            "__init__": lambda self, *args, **kwargs: None,  # noqa: ARG005 - done over there
            "__str__": _exception_text,
            "__getattr__": _exception_attribute,
            "__module__": "candidate",
        }
        if issubclass(parents[0], BaseExceptionGroup):
            parents = (Exception,)
        try:
            return type(clean, parents, members)
        except TypeError:  # bases that do not go together here
            return type(clean, (Exception,), members)

    def make(self, number: int, kind: list[Any], args: list[Any], text: str) -> BaseException:
        """An exception of ours for one of the candidate's."""
        own = self.find_class(kind)
        if _BUILTINS.get(own.__name__) is own:
            try:
                return own(*args)
            except Exception:  # noqa: BLE001 - one that is made in another way
                return RuntimeError(f"{own.__name__}: {text}")
        error = BaseException.__new__(own)
        error.args = tuple(args)
        error.__dict__.update(_text=text, _there=["h", number])
        return error


def _find_library_class(module: Any, name: str) -> type[BaseException] | None:
    if module not in _LIBRARY:
        return None
    __import__(module)
    kind = getattr(sys.modules[module], name, None)
    return kind if isinstance(kind, type) and issubclass(kind, BaseException) else None


def _construct(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """A target that makes one has it made over there, where its class is."""
    return kind._link.ask("call", kind, args, kwargs)  # noqa: SLF001 - a class of this module's


def _exception_text(error: BaseException) -> str:
    return str(error.__dict__.get("_text", ""))


def _exception_attribute(error: BaseException, name: str) -> Any:
    if name[:1] == "_":
        raise AttributeError(name)
    return type(error)._link.ask("attr", error, name)  # type: ignore[attr-defined]  # noqa: SLF001


def encode_exception(error: BaseException, encoder: values.Encoder) -> list[Any]:
    """An exception of ours, for the candidate: a builtin one."""
    name = type(error).__name__
    if isinstance(error, AssertionError):
        return ["X", "AssertionError"]  # its text may tell what was expected
    if _BUILTINS.get(name) is not type(error):
        return ["X", "RuntimeError", judging.describe(error)]
    try:
        return ["X", name, *encoder.encode_all(error.args)]
    except values.Unsendable:
        return ["X", name, judging.describe(error)]


def make_wordless(kind: type[BaseException]) -> BaseException:
    """One of its nearest builtin class, which says nothing: words may tell what was expected."""
    for base in kind.__mro__:
        if _BUILTINS.get(base.__name__) is base:
            try:
                return base()
            except TypeError:  # one that is made of more
                continue
    return Exception()
