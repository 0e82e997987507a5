"""Proxies in the evaluator for objects that stay with the candidate.

Each class of the candidate's has a class here, with its name and those special methods that it has:
`callable`, `hasattr`, `hash` and the abstract classes answer as they would over there. A question
with a plain answer (an attribute, a call, `len`, an item) goes to the candidate, and so does an
operator between two objects of the candidate's.

A plain value of the target's is never an operand over there: it may be the expected value. A
stand-in is equal to no plain value; order against one is refused; arithmetic with one has no
verdict.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .link import Link

T = TypeVar("T")

MAX_NAME = 80
# A value of that many characters as JSON is smaller than any that cannot be sent.
_SMALL = 1 << 16
# Names with underscores that say something of an object, and have nothing done.
_FACTS = frozenset({
    "__abstractmethods__", "__all__", "__annotations__", "__bases__", "__code__",
    "__dataclass_fields__", "__defaults__", "__dict__", "__doc__", "__kwdefaults__",
    "__match_args__", "__members__", "__module__", "__mro__", "__name__", "__qualname__",
    "__version__", "__wrapped__",
})  # fmt: skip
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "divmod": "divmod", "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY = ("neg", "pos", "invert", "abs", "round", "trunc", "floor", "ceil")
_ABSTRACT = {
    "collections.abc": frozenset({
        "Awaitable", "ByteString", "Callable", "Collection", "Container", "Coroutine", "Generator",
        "Hashable", "ItemsView", "Iterable", "Iterator", "KeysView", "Mapping", "MappingView",
        "MutableMapping", "MutableSequence", "MutableSet", "Reversible", "Sequence", "Set", "Sized",
        "ValuesView",
    }),
    "numbers": frozenset({"Complex", "Integral", "Number", "Rational", "Real"}),
}  # fmt: skip


def candidate_form(value: Any) -> list[Any] | None:
    """The form by which the candidate knows an object of its own; None for anything else."""
    if issubclass(type(value), type):
        number = value.__dict__.get("_p_number")
        return None if number is None else ["h", number]
    try:
        form: list[Any] = object.__getattribute__(value, "_p_there")
    except AttributeError:
        return None
    return form


def require_type(kind: type[T], value: Any) -> T:
    """Return a plain value of exactly that type; TypeError for any other."""
    if type(value) is not kind:
        raise TypeError(
            f"the candidate returned a `{type(value).__name__}` for a `{kind.__name__}`"
        )
    return value


def forward(verb: str, kind: type | None = None) -> Callable[..., Any]:
    """A method that asks the candidate, and takes an answer of type `kind` only."""

    def method(self: Any, *args: Any) -> Any:
        answer = self._p_link.ask(verb, self, *args)
        return answer if kind is None else require_answer(self._p_link, verb, kind, answer)

    return method


_EXACT: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
}


def require_answer(link: Link, verb: str, kind: type, answer: Any) -> Any:
    """Return a plain value, also for one of a subclass; no honest program answers otherwise."""
    if type(answer) is kind:
        return answer
    if isinstance(answer, kind) and kind in _EXACT:
        return _EXACT[kind](answer)
    name = type(answer).__name__
    raise link.refuse(f"the program gives a `{name}` for `{verb}`, which is a `{kind.__name__}`")


def _forward_method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._p_link.ask("method", self, name, args, kwargs)

    return method


class Proxy:
    """An object that stays with the candidate."""

    # What a candidate's object has of its own starts at `__getattr__`.
    __slots__ = ("__weakref__", "_p_alike", "_p_link", "_p_name", "_p_there")

    def __init__(self, link: Link, form: list[Any], name: str, *, alike: bool) -> None:
        put = object.__setattr__
        put(self, "_p_link", link)
        put(self, "_p_there", form)
        put(self, "_p_name", name)
        put(self, "_p_alike", alike)

    def __getattr__(self, name: str) -> Any:
        if name in Proxy.__slots__ or (name[:2] == "__" and name not in _FACTS):
            # It is still being made, or Python and libraries would do as the attribute says.
            raise AttributeError(name)
        return self._p_link.ask("attr", self, name)

    __setattr__ = forward("setattr")
    __delattr__ = forward("delattr")
    __copy__ = forward("copy")
    __format__ = forward("format", str)
    __str__ = forward("str", str)
    __repr__ = forward("repr", str)
    __dir__ = forward("dir", list)

    def __deepcopy__(self, memo: object) -> Any:
        return self._p_link.ask("deepcopy", self)

    def __hash__(self) -> int:
        # The same for all with an `==` of their own: so they are compared.
        return hash(tuple(self._p_there)) if self._p_alike else 0

    def __eq__(self, other: object) -> bool:
        form = candidate_form(other)
        if form is None:
            if not self._p_alike:
                self._p_link.note = explain("==", self._p_name)
            return False
        if self._p_alike and (form == self._p_there or getattr(other, "_p_alike", False)):
            return bool(form == self._p_there)
        return require_type(bool, self._p_link.ask("compare", "eq", self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other


def _forward_attribute(name: str) -> property:
    return property(lambda self: self._p_link.ask("attr", self, name))


def explain(sign: str, name: str) -> str:
    """Say why an operator has no verdict."""
    return (
        f"`{sign}` between an object of class `{name}` and a value would run the program's own "
        "code; compare what its methods and attributes return"
    )


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self._p_link.ask("call", self, args, kwargs)


def _contains(self: Any, value: Any) -> bool:
    """Whether an item is equal, by our own `==`."""
    if not hasattr(type(self), "__iter__"):
        raise self._p_link.distrust(explain("in", self._p_name))
    self._p_link.note = explain("in", self._p_name)
    return any(item is value or item == value for item in iter(self))


def exit_block(self: Any, kind: type[BaseException] | None, error: Any, _: object) -> bool:
    """Leave a `with` block, whose errors the program sees without their text."""
    link = self._p_link
    is_theirs = error is not None and candidate_form(error) is not None
    shown = error if is_theirs or error is None else link.hide_words(kind)
    swallows: bool = link.ask("exit", self, shown)
    if kind is None or not swallows:
        return False
    if is_theirs:
        return True
    if isinstance(error, AssertionError):
        raise link.refuse(f"a `with` block of a `{self._p_name}` swallows the target's assertion")
    raise link.distrust(f"a `with` block of a `{self._p_name}` swallows an error of the target")


async def _exit_async(self: Any, kind: type[BaseException] | None, *_: object) -> bool:
    if kind is not None:
        raise self._p_link.distrust(f"an error leaves an `async with` block of a `{self._p_name}`")
    await self._p_link.ask("method", self, "__aexit__", (None, None, None), {})
    return False


def _is_theirs(value: Any) -> bool:
    """Nothing of ours is an instance of a class of theirs, whatever that class says."""
    return candidate_form(value) is not None


def _is_instance(self: Any, value: Any) -> bool:
    return _is_theirs(value) and bool(self._p_link.ask("isinstance", value, self))


def _is_subclass(self: Any, value: Any) -> bool:
    return _is_theirs(value) and bool(self._p_link.ask("issubclass", value, self))


def _refuse_base(self: Any, _: object) -> tuple[type, ...]:
    raise self._p_link.distrust(f"a class of `{self._p_name}` cannot have a subclass here")


def _order(name: str, sign: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if candidate_form(other) is None:
            raise self._p_link.refuse(explain(sign, self._p_name))
        return require_type(bool, self._p_link.ask("compare", name, self, other))

    return method


def _binary(name: str, sign: str, *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Any, other: Any, *_: Any) -> Any:
        if candidate_form(other) is None:
            why = self._p_link.distrust(explain(sign, self._p_name))
            if name == "sub":
                return Difference(self._p_link, self._p_name)
            raise why
        return self._p_link.ask("binary", name, *((other, self) if reflected else (self, other)))

    return method


def _unary(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return self._p_link.ask("method", self, f"__{name}__", args, {})

    return method


class Difference:
    """What the program's own `-` gives for one of its objects and a plain value.

    It is not computed. Whether it is small is the question whether the two are equal: the program
    would answer it. Anything else that is asked of it has no verdict.
    """

    __slots__ = ("_p_link", "_p_name")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, link: Link, name: str) -> None:
        self._p_link, self._p_name = link, name

    def _get_difference(self, *_: Any) -> Difference:
        return self

    __abs__ = __neg__ = __pos__ = __round__ = _get_difference

    def _refuse(self, *_: object) -> Any:
        raise self._p_link.refuse(explain("-", self._p_name))

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse

    def __eq__(self, other: object) -> bool:
        if type(other) in {int, float} and other == 0:
            self._refuse()
        return bool(self._distrust())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _distrust(self, *_: Any) -> Any:
        raise self._p_link.distrust(explain("-", self._p_name))

    __getattr__ = __getitem__ = __iter__ = __len__ = _distrust
    __float__ = __int__ = __index__ = __str__ = __repr__ = __format__ = __call__ = _distrust
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _distrust
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = _distrust


class Unsent:
    """A value that the program could not send, because it is too large or nested too deeply.

    It is therefore not equal to a small value. Any other question about it has no verdict.
    """

    __slots__ = ("_p_link", "_p_why")

    def __init__(self, link: Link, why: str) -> None:
        self._p_link, self._p_why = link, why

    def _distrust(self, *_: Any, **__: Any) -> Any:
        raise self._p_link.distrust(self._p_why)

    def __eq__(self, other: object) -> bool:
        text = "" if type(other) is Unsent else self._p_link.encode(other)
        return False if 0 < len(text) < _SMALL else bool(self._distrust())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return int(self._distrust())

    __class__ = property(_distrust)
    __getattr__ = __getitem__ = __setitem__ = __iter__ = __next__ = __len__ = _distrust
    __bool__ = __contains__ = __call__ = __enter__ = __exit__ = _distrust
    __float__ = __int__ = __index__ = __str__ = __repr__ = __format__ = __reversed__ = _distrust
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __neg__ = __pos__ = __invert__ = _distrust
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = _distrust
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = _distrust
    __mod__ = __rmod__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _distrust
    __lshift__ = __rshift__ = __round__ = __divmod__ = _distrust


METHODS: dict[str, Any] = {
    "__aenter__": _forward_method("__aenter__"),
    "__aexit__": _exit_async,
    "__aiter__": _forward_method("__aiter__"),
    "__anext__": _forward_method("__anext__"),
    "__bool__": forward("bool", bool),
    "__call__": _call,
    "__complex__": forward("complex", complex),
    "__contains__": _contains,
    "__delitem__": forward("delitem"),
    "__enter__": forward("enter"),
    "__exit__": exit_block,
    "__float__": forward("float", float),
    "__getitem__": forward("getitem"),
    "__index__": forward("index", int),
    "__instancecheck__": _is_instance,
    "__int__": forward("int", int),
    "__iter__": forward("iter"),
    "__len__": forward("len", int),
    "__next__": forward("next"),
    "__reversed__": forward("reversed"),
    "__setitem__": forward("setitem"),
    "__subclasscheck__": _is_subclass,
    **{f"__{name}__": _order(name, sign) for name, sign in _ORDER.items()},
    **{f"__{name}__": _unary(name) for name in _UNARY},
    **{f"__{name}__": _binary(name, sign) for name, sign in _BINARY.items()},
    **{f"__i{name}__": _binary(f"i{name}", f"{sign}=") for name, sign in _BINARY.items()},
    **{f"__r{name}__": _binary(name, sign, reflected=True) for name, sign in _BINARY.items()},
}
SPECIAL = (*METHODS, "__hash__")
"""What the candidate is asked about each of its classes."""


def clean_name(name: str) -> str:
    """A name that is safe to show."""
    return name[:MAX_NAME] if name.isidentifier() else "Candidate"


def make_proxy_class(name: str, special: list[Any], abstract: list[Any], *, of_type: bool) -> type:
    """A class here for one of the candidate's: `special` are the methods that it has."""
    members: dict[str, Any] = {method: METHODS[method] for method in special if method in METHODS}
    members["__slots__"] = ()
    members["__doc__"] = _forward_attribute("__doc__")
    members["__module__"] = _forward_attribute("__module__")
    if of_type:
        members["__class__"] = property(lambda _: type)
        members["__mro_entries__"] = _refuse_base
    if "__hash__" not in special:
        members["__hash__"] = None
    kind = type(clean_name(name), (Proxy,), members)
    for module, names in _ABSTRACT.items():
        for each in names.intersection(filter(lambda part: type(part) is str, abstract)):
            __import__(module)
            getattr(sys.modules[module], each).register(kind)
    return kind


FUNCTION: Any = make_proxy_class("function", ["__call__", "__hash__"], [], of_type=False)
