"""What the candidate's side hands over of objects that have no form of their own.

    h number, name, alike        an object; `alike`: it is equal to itself alone
    v number, name, value        an instance of a subclass of a builtin, with that builtin's value
    k number, name               a coroutine
    e number, name, base, bases, module
                                 an exception class: its nearest builtin class, its own bases
    x number, class, args, text  an exception
    f number                     a function of the evaluator's, on its way back

and what the evaluator hands over:

    h number     the object of that number                  f number, name   a function to call back
    g name       what the candidate calls by that name      n number         an iterator, by `next`
    X name, …    a builtin exception                        m name           a module
"""

from __future__ import annotations

import builtins

from . import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    CallBack = Callable[[int, Any, Any], Any]

_BASES = (int, float, complex, str, bytes, list, tuple, set, frozenset, dict, bytearray)
_MAX_TEXT = 10_000


async def _sample() -> None: ...


_sampled = _sample()
_COROUTINE = type(_sampled)
_sampled.close()


class Handles:
    """The numbers by which the evaluator knows objects of ours."""

    def __init__(self, call_back: CallBack, names: dict[str, Any]) -> None:
        self.call_back, self.names = call_back, names
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def encoder(self, known: list[Any]) -> values.Encoder:
        """For one message."""
        return _Encoder(self, known)

    def decoder(self, known: list[Any]) -> values.Decoder:
        """For one message."""
        return _Decoder(self, known)

    def number_of(self, value: Any) -> int:
        """Of an object, which from now on stays."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return number

    def exception(self, error: BaseException, encoder: values.Encoder | None) -> list[Any]:
        """The form of an exception, whatever it is like."""
        arguments = None
        try:
            arguments = encoder.all(error.args) if encoder else None
        except BaseException as unsendable:  # noqa: BLE001 - it is described by its text then
            del unsendable
        return [
            "x",
            self.number_of(error),
            self.exception_class(type(error)),
            arguments,
            _text(error),
        ]

    def exception_class(self, kind: type) -> list[Any]:
        """The form of an exception class."""
        name, base = _name(kind), _builtin_base(kind)
        if getattr(builtins, name, None) is kind:
            return ["e", None, name, name, [], ""]
        bases = [
            self.exception_class(parent)
            for parent in kind.__bases__
            if issubclass(parent, BaseException)
            and getattr(builtins, _name(parent), 0) is not parent
        ]
        module = kind.__module__ if type(kind.__module__) is str else ""
        return ["e", self.number_of(kind), name, base, bases, module]


def _name(kind: type) -> str:
    """Past whatever its metaclass makes of it."""
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


def _text(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_TEXT]
    except BaseException:  # noqa: BLE001 - the candidate wrote its __str__
        return ""


def _builtin_base(kind: type) -> str:
    for base in kind.__mro__:
        if getattr(builtins, _name(base), None) is base:
            return _name(base)
    return "Exception"


def base_value(value: Any) -> Any:
    """The builtin that a value of a subclass is, past whatever the subclass has redefined."""
    base = next(base for base in _BASES if issubclass(type(value), base))
    if base is dict:
        return dict(dict.items(value))
    if base in {list, tuple, set, frozenset}:
        return base(getattr(base, "__iter__")(value))  # noqa: B009 - all four have it
    if base in {bytes, bytearray}:
        return base(memoryview(value))
    if base is str:
        return str.__str__(value)
    if base is int:
        return int.__int__(value)
    if base is float:
        return float.__float__(value)
    return complex(complex.real.__get__(value), complex.imag.__get__(value))


class _Encoder(values.Encoder):
    def __init__(self, handles: Handles, known: list[Any]) -> None:
        super().__init__(known)
        self._handles = handles

    def _other(self, value: Any) -> Any:
        kind = type(value)
        if kind is _Callback or kind is _Pulled:
            return ["f", value.number]
        if isinstance(value, BaseException):
            return self._handles.exception(value, self)
        if isinstance(value, type) and issubclass(value, BaseException):
            return self._handles.exception_class(value)
        number = self._handles.number_of(value)
        name = _name(value if isinstance(value, type) else kind)
        if issubclass(kind, _BASES):
            return ["v", number, name, self.encode(base_value(value))]
        if kind is _COROUTINE:
            return ["k", number, name]
        alike = isinstance(value, type) or getattr(kind, "__eq__", None) is object.__eq__
        return ["h", number, name, alike]


class _Decoder(values.Decoder):
    def __init__(self, handles: Handles, known: list[Any]) -> None:
        super().__init__(known)
        self._handles = handles

    def _special(self, tag: str) -> Callable[[Any, list[Any]], Any]:
        handles = self._handles
        if tag == "h":
            return lambda _, form: handles.objects[form[0]]
        if tag == "g":
            return lambda _, form: handles.names[form[0]]
        if tag == "f":
            return lambda _, form: _Callback(handles.call_back, *form)
        if tag == "n":
            return lambda _, form: _Pulled(handles.call_back, form[0])
        if tag == "X":
            return lambda _, form: getattr(builtins, form[0])(*self.all(form[1:]))
        if tag == "m":
            return lambda _, form: __import__(form[0])
        return super()._special(tag)


class _Callback:
    """A function of the evaluator's."""

    def __init__(self, call_back: CallBack, number: int, name: str) -> None:
        self._call_back, self.number = call_back, number
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_back(self.number, args, kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        """As a function does when it is an attribute of a class."""
        if instance is None:
            return self
        return lambda *args, **kwargs: self(instance, *args, **kwargs)


class _Pulled:
    """An iterator of the evaluator's."""

    def __init__(self, call_back: CallBack, number: int) -> None:
        self._call_back, self.number = call_back, number

    def __iter__(self) -> _Pulled:
        return self

    def __next__(self) -> Any:
        return self._call_back(self.number, (), {})
