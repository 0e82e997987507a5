"""What stands in the evaluator for an object of the candidate's.

A question that has a plain answer (an attribute, a call, `len`, an item) goes to the candidate. A
question whose answer would be the verdict itself (`==` of two such objects, `<`, `+`) is not asked:
the target has no verdict then.
"""

from __future__ import annotations

from . import exceptions
from .link import Link, there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

# Names with underscores that say something of an object, and have nothing done.
_FACTS = frozenset({
    "__abstractmethods__", "__all__", "__annotations__", "__bases__", "__dataclass_fields__",
    "__defaults__", "__dict__", "__kwdefaults__", "__match_args__", "__members__", "__mro__",
    "__name__", "__qualname__", "__version__",
})  # fmt: skip
_COMPARED = ("lt", "le", "gt", "ge")
_COMPUTED = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul",
    "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
_ALONE = ("neg", "pos", "abs", "invert", "round", "trunc", "floor", "ceil")
_SIGNS = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
    "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "neg": "-", "pos": "+", "invert": "~",
}  # fmt: skip


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
            # One that is being made, or what Python and libraries do as they are told by.
            raise AttributeError(name)
        return self._link.ask("attr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._link.ask("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._link.ask("delattr", self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it over there."""
        return self._link.ask("call", self, args, kwargs)

    def __iter__(self) -> Any:
        return self._link.ask("iter", self)

    def __next__(self) -> Any:
        return self._link.ask("next", self)

    def __reversed__(self) -> Any:
        return self._link.ask("reversed", self)

    def __getitem__(self, key: Any) -> Any:
        return self._link.ask("getitem", self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._link.ask("setitem", self, key, value)

    def __delitem__(self, key: Any) -> None:
        self._link.ask("delitem", self, key)

    def __enter__(self) -> Any:
        return self._link.ask("enter", self)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        error = None if kind is None else exceptions.without_words(kind)
        if self._link.ask("exit", self, error) and kind is not None:
            raise self._link.distrust(_would_run("with", self._name))

    def __copy__(self) -> Any:
        return self._link.ask("copy", self)

    def __deepcopy__(self, memo: object) -> Any:
        return self._link.ask("deepcopy", self)

    def __contains__(self, value: Any) -> bool:
        """Whether one of what it yields is equal, by our own `==`."""
        try:
            items = iter(self)
        except TypeError:
            raise self._link.distrust(_would_run("in", self._name)) from None
        return any(item is value or item == value for item in items)

    def __instancecheck__(self, value: Any) -> bool:
        return _is_theirs(value) and bool(self._link.ask("isinstance", value, self))

    def __subclasscheck__(self, value: Any) -> bool:
        return _is_theirs(value) and bool(self._link.ask("issubclass", value, self))

    def __format__(self, spec: str) -> str:
        return exactly(str, self._link.ask("format", self, spec))

    def __len__(self) -> int:
        return exactly(int, self._link.ask("len", self))

    def __bool__(self) -> bool:
        return exactly(bool, self._link.ask("bool", self))

    def __str__(self) -> str:
        return exactly(str, self._link.ask("str", self))

    def __repr__(self) -> str:
        return exactly(str, self._link.ask("repr", self))

    def __int__(self) -> int:
        return exactly(int, self._link.ask("int", self))

    def __index__(self) -> int:
        return exactly(int, self._link.ask("index", self))

    def __float__(self) -> float:
        return exactly(float, self._link.ask("float", self))

    def __complex__(self) -> complex:
        return exactly(complex, self._link.ask("complex", self))

    def __dir__(self) -> list[str]:
        return exactly(list, self._link.ask("dir", self))

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        raise self._link.distrust(f"a class of `{self._name}` cannot be derived here")

    def __hash__(self) -> int:
        # The same for all that compare in a way of their own: so they are compared, and refused.
        return hash(tuple(self._there)) if self._alike else 0

    def __eq__(self, other: object) -> bool:
        form = there(other)
        if form is None or not isinstance(other, Proxy):
            return False
        if form == self._there:
            return True
        if self._alike and other._alike:
            return False
        raise self._link.distrust(_would_run("==", self._name))

    def __ne__(self, other: object) -> bool:
        return not self == other


def _is_theirs(value: Any) -> bool:
    """Nothing of ours is an instance of a class of theirs, whatever that class says."""
    return there(value) is not None


def _would_run(sign: str, name: str) -> str:
    return (
        f"`{sign}` of a `{name}` would run the candidate's own code: "
        "compare what its methods and attributes return"
    )


def _refuse(sign: str) -> Callable[..., Any]:
    def method(self: Proxy, *_: object) -> Any:
        raise self._link.distrust(_would_run(sign, self._name))

    return method


for _name in (*_COMPARED, *_COMPUTED, *_ALONE):
    setattr(Proxy, f"__{_name}__", _refuse(_SIGNS.get(_name, _name)))
for _name in _COMPUTED:
    setattr(Proxy, f"__r{_name}__", _refuse(_SIGNS.get(_name, _name)))
    setattr(Proxy, f"__i{_name}__", _refuse(_SIGNS.get(_name, _name)))


def exactly(kind: type[T], value: Any) -> T:
    """A plain value of that type, and of no other."""
    if type(value) is not kind:
        raise TypeError(f"the candidate gave a `{type(value).__name__}` for a `{kind.__name__}`")
    return value


def _forwarded(name: str) -> Any:
    return property(lambda self: self._link.ask("attr", self, name))


for _name in ("__doc__", "__module__"):
    setattr(Proxy, _name, _forwarded(_name))


def proxy(link: Link, number: int, name: str, alike: bool) -> Proxy:  # noqa: FBT001 - as `Link` has it
    """For the object that the candidate knows by that number."""
    return Proxy(link, ["h", number], name, alike=alike)


def stub(link: Link, name: str) -> Proxy:
    """For what the candidate calls by that name."""
    return Proxy(link, ["g", name], name, alike=True)
