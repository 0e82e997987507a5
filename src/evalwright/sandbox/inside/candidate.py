"""Process C: runs the candidate, and answers what the evaluator asks about it.

    evaluator                                     candidate
    source                                        outcome, detail, [[name, kind]…]
    ["get", name]                                 a reply
    ["put", name, value]                          a reply
    ["call", object, args, kwargs]                a reply
    ["attr", object, name] and so on: `_ACTIONS`  a reply

    a reply is   ["ok", value, changes], ["raise", exception, changes], ["stop"] or, for an answer
                 that cannot be sent, ["unsendable", why]
    or, first    ["back", number, args, kwargs], to be answered by a reply

`changes` are the new contents of containers that were passed and have changed. Exceptions, and
objects that have no form of their own, have a number:

    h number, name, alike, class an object; `alike`: it is equal to itself alone; its class has a
                                 number, special methods, abstract bases; null for a function
    v number, name, value, class number, redefined
                                 an instance of a subclass of a builtin, with that builtin's value
                                 and the methods that the subclass has redefined
    k number, name               a coroutine
    e number, name, base, bases, module
                                 an exception class: its nearest builtin class, its own bases
    x number, class, args, text, cause, notes
                                 an exception
    f number                     a function of the evaluator's, on its way back
    X number                     an exception of the evaluator's, on its way back

The evaluator hands over:

    h number     the object of that number                  f number, name   a function to call back
    g name       what the candidate calls by that name      n number         an iterator, by `next`
    X number, name, …            a builtin exception; its number, or null, brings it back
    m name       a module                                   Q name           a builtin

Nothing in here is trusted: the candidate can do what it likes to this process. Precautions against
patched builtins are for the sake of honest candidates.
"""

from __future__ import annotations

import builtins
import collections
import io
import operator
import os
import sys
from _thread import RLock
from collections.abc import Callable
from contextlib import suppress
from os import _exit
from types import BuiltinFunctionType, CoroutineType, FunctionType, MethodType, ModuleType
from typing import Any, ClassVar, NoReturn

from . import judging, proxies, values, wire

CallBack = Callable[[int, Any, Any], Any]

_NO_LIMIT = 1 << 31
# Sent where an answer cannot be made, for want of memory or of stack.
_NO_ANSWER = values.pack(["unsendable", "the answer cannot be made in the program's process"])
_REPLIES = frozenset({"ok", "raise", "stop"})
_MAX_TEXT = 10_000
_MOST_CAUSES = 20
_FUNCTIONS = frozenset({FunctionType, BuiltinFunctionType, MethodType})
_ABSTRACT = frozenset({"collections.abc", "numbers"})
_LOOPS: list[Any] = []
# The builtins of the program: what it patches stays with it. Made before any fork, because to copy
# them is to write to each.
_OWN_BUILTINS = ModuleType("builtins")
_OWN_BUILTINS.__dict__.update(builtins.__dict__)


def main(channel: int) -> NoReturn:
    """Run the source that comes first, then answer until the evaluator goes away."""
    try:
        serve(channel)
        _exit(0)
    finally:
        _exit(1)


def serve(channel: int) -> None:
    """Serve until the other end of the channel is closed."""
    with suppress(wire.Closed):
        _CandidateProcess(channel).serve()


class _CandidateProcess:
    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._streams = (sys.stdout, sys.stderr)
        self._turn = RLock()
        self._captured: list[Any] = []
        self._stdins: dict[int, Any] = {0: sys.stdin}
        self.names = judging.new_module().__dict__
        self.objects: list[Any] = []
        """What the evaluator knows by number."""
        self._numbers: dict[int, int] = {}
        self.descriptions: dict[int, list[Any]] = {}
        self._functions: dict[int, _RemoteFunction] = {}
        self._errors: dict[int, BaseException] = {}
        self.error_numbers: dict[int, int] = {}
        self._actions: dict[str, Callable[..., Any]] = {
            **_ACTIONS,
            "get": self._find_global,
            "put": self._change_global,
            "capture": self._begin_capture,
            "captured": self._end_capture,
            "stdin": self._change_stdin,
        }

    def serve(self) -> None:
        source = wire.receive(self._channel, _NO_LIMIT).decode("utf-8", "surrogatepass")
        sys.modules["builtins"] = _OWN_BUILTINS
        self.names["__builtins__"] = _OWN_BUILTINS.__dict__
        outcome, detail = judging.run(source, self.names)
        del source
        self._send([outcome, detail, self._list_names()])
        while True:
            try:
                request = wire.receive(self._channel, _NO_LIMIT)
            except wire.Closed:
                raise
            except BaseException as raised:  # noqa: BLE001 - by a signal handler, while it waits
                del raised
                continue
            try:
                self._send(self._answer(values.unpack(request)))
            except (MemoryError, RecursionError) as error:  # the check must hear of it
                judging.release_reserve(error)
                wire.send(self._channel, _NO_ANSWER)

    def _send(self, message: Any) -> None:
        for stream in self._streams:
            judging.flush(stream)
        body = values.pack(message)
        if len(body) > wire.MAX_BYTES and message[0] == "raise" and message[1][0] == "x":
            message[1][3] = None  # what it was raised with; its text says enough
            body = values.pack(message)
        if len(body) > wire.MAX_BYTES:
            body = values.pack(["unsendable", "a value of more than 8 MiB"])
        wire.send(self._channel, body)

    def _answer(self, request: list[Any]) -> list[Any]:
        """Do what is asked. Whatever goes wrong is the answer."""
        verb, *forms = request
        known: list[Any] = []
        passed: list[Any] = []
        before: list[str] = []
        error: BaseException | None = None
        value = None
        try:
            decoder = _HandleDecoder(known, self)
            arguments = [decoder.decode(form) for form in forms]
            passed = list(known)
            if passed:
                before = values.take_snapshot(passed, _HandleEncoder(known, self))
            value = self._actions[verb](*arguments)
        except StopIteration as end:
            if verb == "next":
                return ["stop"]
            error = end
        except BaseException as raised:  # noqa: BLE001 - a candidate may raise anything
            judging.release_reserve(raised)
            error = raised
        try:
            encoder = _HandleEncoder(known, self)
            form = ["ok", encoder.encode(value)]
            if error is not None:
                form = ["raise", encoder.encode_exception(error)]
            return [*form, encoder.encode_changes(passed, before)]
        except values.Unsendable as unsendable:
            return ["unsendable", str(unsendable)]
        except (MemoryError, RecursionError) as error:  # the program itself was done
            judging.release_reserve(error)
            return ["unsendable", f"there is no room to pass it ({type(error).__name__})"]
        except BaseException as raised:  # noqa: BLE001 - what is asked of its objects is its code
            encoder = _HandleEncoder([], self)
            return ["raise", encoder.encode_exception(raised, with_arguments=False), []]

    def call_back(self, number: int, args: Any, kwargs: Any) -> Any:
        """Ask the evaluator to call what it has handed over."""
        with self._turn:
            known: list[Any] = []
            encoder = _HandleEncoder(known, self)
            forms = [encoder.encode(args), encoder.encode(kwargs)]
            passed = list(known)
            self._send(["back", number, *forms])
            kind, *rest = self._wait_for_reply()
            if kind == "stop":
                raise StopIteration
            form, changes = rest
            decoder = _HandleDecoder(known, self)
            result = decoder.decode(form)
            decoder.apply_changes(passed, changes)
            if kind == "ok":
                return result
            raise result

    def _wait_for_reply(self) -> list[Any]:
        """What is called back may ask again before it answers."""
        while True:
            message: list[Any] = values.unpack(wire.receive(self._channel, _NO_LIMIT))
            if message[0] in _REPLIES:
                return message
            self._send(self._answer(message))

    def _list_names(self) -> list[list[Any]]:
        names = []
        for name, value in list(self.names.items()):
            if type(name) is not str or (name[:2] == "__" and name[-2:] == "__"):
                continue
            kind = type(value)
            form = None
            try:
                if kind is FunctionType or isinstance(value, type) or callable(value):
                    form = _HandleEncoder([], self).encode(value)
                elif kind is ModuleType:
                    form = ["m", str(value.__name__)]
            except BaseException as odd:  # noqa: BLE001 - a class of its own can raise at anything
                del odd
            names.append([name, form])
        return names

    def number_of(self, value: Any) -> int:
        """The number of an object, which is kept from now on."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return number

    def find_function(self, number: int, name: str) -> _RemoteFunction:
        """A function of the evaluator's: always the same object."""
        if number not in self._functions:
            self._functions[number] = _RemoteFunction(self.call_back, number, name)
        return self._functions[number]

    def make_error(self, number: int | None, name: str, arguments: list[Any]) -> BaseException:
        """An exception of the evaluator's: of one number, always the same object."""
        error = None if number is None else self._errors.get(number)
        if error is None:
            error = getattr(builtins, name)(*arguments)
            if number is not None:
                self._errors[number] = error
                self.error_numbers[id(error)] = number
        return error

    def _find_global(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        return self.names["__builtins__"][name]  # the program may have added it

    def _change_global(self, name: str, value: Any) -> None:
        """Take over what a target has done to a global list, dict or set."""
        mine: Any = self.names.get(name)
        if type(mine) is not type(value):
            self.names[name] = value
        elif type(mine) is list:
            mine[:] = value
        else:
            mine.clear()
            mine.update(value)

    def _change_stdin(self, number: int, text: str | None) -> None:
        """Use the stdin of that number; with `text`, it is new."""
        if text is not None:
            self._stdins[number] = io.StringIO(text)
        sys.stdin = self._stdins[number]

    def _begin_capture(self) -> None:
        self._captured.append(sys.stdout)
        sys.stdout = io.StringIO()

    def _end_capture(self) -> str:
        printed, sys.stdout = sys.stdout, self._captured.pop()
        return str(printed.getvalue()) if isinstance(printed, io.StringIO) else ""


def _change_environment(changed: dict[str, str], removed: list[str]) -> None:
    os.environ.update(changed)
    for name in removed:
        os.environ.pop(name, None)


def _await(coroutine: Any) -> Any:
    """Run to its end, in one loop for all: what belongs to a loop stays usable."""
    import asyncio

    if not _LOOPS:
        _LOOPS.append(asyncio.new_event_loop())

    async def wait() -> Any:
        return await coroutine

    return _LOOPS[0].run_until_complete(wait())


def _apply_operator(name: str, left: Any, right: Any) -> Any:
    return getattr(operator, f"__{name}__", divmod)(left, right)


def _exit_block(thing: Any, error: BaseException | None) -> bool:
    return bool(thing.__exit__(type(error) if error else None, error, None))


_BASE_VALUES: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    complex: lambda value: complex(complex.real.__get__(value), complex.imag.__get__(value)),
    str: str.__str__,
    bytes: lambda value: bytes(memoryview(value)),
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
    bytearray: lambda value: bytearray(memoryview(value)),
}
_BASES = tuple(_BASE_VALUES)


def _base_value(value: Any) -> Any:
    """The builtin that a value of a subclass is, past whatever the subclass has redefined."""
    base = next(base for base in _BASES if issubclass(type(value), base))
    return _BASE_VALUES[base](value)


_ACTIONS: dict[str, Callable[..., Any]] = {
    **{
        function.__name__: function
        for function in (
            *(bool, complex, delattr, dir, float, format, int, isinstance, issubclass, iter),
            *(len, next, repr, reversed, setattr, str),
        )
    },
    "attr": getattr,
    "await": _await,
    "base": _base_value,
    "binary": _apply_operator,
    "compare": _apply_operator,
    "call": lambda thing, args, kwargs: thing(*args, **kwargs),
    "copy": lambda thing: __import__("copy").copy(thing),
    "deepcopy": lambda thing: __import__("copy").deepcopy(thing),
    "delitem": lambda thing, key: thing.__delitem__(key),
    "enter": lambda thing: thing.__enter__(),
    "environ": _change_environment,
    "exit": _exit_block,
    "getitem": lambda thing, key: thing[key],
    "index": lambda thing: thing.__index__(),
    "method": lambda thing, name, args, kwargs: getattr(thing, name)(*args, **kwargs),
    "seed": lambda state: __import__("random").setstate(state),
    "setitem": lambda thing, key, value: thing.__setitem__(key, value),
}


def _class_name(kind: type) -> str:
    """Past whatever its metaclass makes of it."""
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


def _find_builtin(name: str, *attributes: str) -> Any:
    value = builtins.__dict__.get(name) or getattr(collections, name)
    for attribute in attributes:
        value = getattr(value, attribute)
    return value


def _bases(kind: type) -> tuple[type, ...]:
    bases: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return bases


def _exception_text(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_TEXT]
    except BaseException:  # noqa: BLE001 - the candidate wrote its __str__
        return ""


def _builtin_base(kind: type) -> str:
    for base in kind.__mro__:
        if getattr(builtins, _class_name(base), None) is base:
            return _class_name(base)
    return "Exception"


class _HandleEncoder(values.Encoder):
    _side: _CandidateProcess
    _causes = 0

    def _encode_other(self, value: Any) -> Any:
        kind = type(value)
        if kind is _RemoteFunction or kind is _RemoteIterator:
            return ["f", value.number]
        if isinstance(value, BaseException):
            return self.encode_exception(value)
        if isinstance(value, type) and issubclass(value, BaseException):
            return self._encode_exception_class(value)
        number = self._side.number_of(value)
        is_type = issubclass(kind, type)
        name = _class_name(value if is_type else kind)
        if issubclass(kind, _BASES):
            return ["v", number, name, self.encode(_base_value(value)), *self._describe_base(kind)]
        if kind is CoroutineType or name.startswith("async_generator_a"):
            return ["k", number, name]
        if kind in _FUNCTIONS:
            return ["h", number, str(getattr(value, "__name__", name)), True, None]
        alike = is_type or getattr(kind, "__eq__", None) is object.__eq__
        return ["h", number, name, alike, self._describe_class(kind, value)]

    def _describe_class(self, kind: type, value: Any) -> list[Any]:
        number = self._side.number_of(kind)
        description = self._side.descriptions.get(number)
        if description is None:
            bases = _bases(kind)
            has = {name for base in bases if base is not object for name in vars(base)}
            hashes = [vars(base)["__hash__"] for base in bases if "__hash__" in vars(base)]
            special = [name for name in proxies.SPECIAL if name in has and name != "__hash__"]
            special += ["__hash__"] if hashes[0] is not None else []
            abstract = [_class_name(base) for base in bases if base.__module__ in _ABSTRACT]
            description = [number, special, abstract, issubclass(kind, type)]
            self._side.descriptions[number] = description
        if issubclass(kind, type) and hasattr(value, "__class_getitem__"):
            return [number, [*description[1], "__getitem__"], *description[2:]]
        return description

    def _describe_base(self, kind: type) -> list[Any]:
        number = self._side.number_of(kind)
        if number not in self._side.descriptions:
            bases = _bases(kind)
            at = next(at for at, base in enumerate(bases) if base in _BASES)
            has = {name for base in bases[:at] for name in vars(base)}
            names = dict.fromkeys((*dir(bases[at]), *proxies.SPECIAL))
            self._side.descriptions[number] = [number, [name for name in names if name in has]]
        return self._side.descriptions[number]

    def encode_exception(self, error: BaseException, *, with_arguments: bool = True) -> list[Any]:
        """The form of an exception, whatever it is like."""
        if id(error) in self._side.error_numbers:
            return ["X", self._side.error_numbers[id(error)]]
        arguments = None
        try:
            arguments = self.encode_all(error.args) if with_arguments else None
        except BaseException as unsendable:  # noqa: BLE001 - it is described by its text then
            del unsendable
        number, kind = self._side.number_of(error), self._encode_exception_class(type(error))
        cause, notes = None, []
        if with_arguments and self._causes < _MOST_CAUSES and error.__cause__ is not None:
            self._causes += 1
            cause = self.encode_exception(error.__cause__)
        if with_arguments:
            all_notes = error.__dict__.get("__notes__", ())
            notes = [str(note)[:_MAX_TEXT] for note in all_notes][:_MOST_CAUSES]
        return ["x", number, kind, arguments, _exception_text(error), cause, notes]

    def _encode_exception_class(self, kind: type) -> list[Any]:
        name, base = _class_name(kind), _builtin_base(kind)
        if getattr(builtins, name, None) is kind:
            return ["e", None, name, name, [], ""]
        bases = [
            self._encode_exception_class(parent)
            for parent in kind.__bases__
            if issubclass(parent, BaseException)
        ]
        module = kind.__module__ if type(kind.__module__) is str else ""
        return ["e", self._side.number_of(kind), name, base, bases, module]


class _HandleDecoder(values.Decoder):
    _side: _CandidateProcess
    decoders: ClassVar[values.Decoders] = {
        **values.Decoder.decoders,
        "h": lambda self, form: self._side.objects[form[0]],
        "g": lambda self, form: self._side.names[form[0]],
        "f": lambda self, form: self._side.find_function(*form),
        "Q": lambda _, form: _find_builtin(*form),
        "n": lambda self, form: _RemoteIterator(self._side.call_back, form[0]),
        "X": lambda self, form: self._side.make_error(*form[:2], self.decode_all(form[2:])),
        "m": lambda _, form: __import__(form[0]),
    }


class _RemoteFunction:
    """A function of the evaluator's."""

    def __init__(self, call_back: CallBack, number: int, name: str) -> None:
        self._call_back, self.number = call_back, number
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_back(self.number, args, kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        """Become a method, as a function in a class does."""
        if instance is None:
            return self
        return lambda *args, **kwargs: self(instance, *args, **kwargs)


class _RemoteIterator:
    """An iterator of the evaluator's."""

    def __init__(self, call_back: CallBack, number: int) -> None:
        self._call_back, self.number = call_back, number

    def __iter__(self) -> _RemoteIterator:
        return self

    def __next__(self) -> Any:
        return self._call_back(self.number, (), {})
