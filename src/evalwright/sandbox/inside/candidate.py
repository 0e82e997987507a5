"""Process C: it runs the candidate, and answers what the evaluator asks about it.

    evaluator                                     candidate
    source                                        outcome, detail, [[name, kind]…]
    ["get", name]                                 a reply
    ["put", name, value]                          a reply
    ["call", object, args, kwargs]                a reply
    ["attr", object, name] and so on: `_DO`       a reply

    a reply is   ["ok", value, changes], ["raise", exception, changes], ["stop"] or, when there is
                 an answer that cannot be sent, ["unsendable", why]
    or, first    ["back", number, args, kwargs], to be answered by a reply

`changes` are the new contents of containers that were passed and are no longer what they were.
Objects that have no form of their own, and exceptions, have a number:

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

Nothing in here is trusted: the candidate can do what it likes to this process. What is kept safe
from honest candidates that patch things is kept safe for their own sake.
"""

from __future__ import annotations

import builtins
import io
import sys
from _thread import RLock
from os import _exit

from . import judging, values, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    CallBack = Callable[[int, Any, Any], Any]

_NO_LIMIT = 1 << 31
_REPLIES = frozenset({"ok", "raise", "stop"})
_FUNCTION = type(lambda: 0)
_BASES = (int, float, complex, str, bytes, list, tuple, set, frozenset, dict, bytearray)
_MAX_TEXT = 10_000


def main(channel: int) -> NoReturn:
    """Run the source that comes first, then answer until the evaluator goes away."""
    try:
        _CandidateProcess(channel).serve()
    except wire.Closed:
        _exit(0)
    finally:
        _exit(1)


class _CandidateProcess:
    """This side of the conversation."""

    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._streams = (sys.stdout, sys.stderr)
        self._turn = RLock()
        self._captured: list[Any] = []
        self._module = judging.new_module()
        self._handles = Handles(self.call_back, self._module.__dict__)

    def serve(self) -> None:
        source = wire.receive(self._channel, _NO_LIMIT).decode("utf-8", "surrogatepass")
        # Its own builtins: what it does to them is done to itself, and not to this.
        own = type(sys)("builtins")
        own.__dict__.update(builtins.__dict__)
        sys.modules["builtins"] = own
        self._module.__dict__["__builtins__"] = own.__dict__
        outcome, detail = judging.run(source, self._module.__dict__)
        del source
        self._send([outcome, detail, self._list_names()])
        while True:
            request = values.unpack(wire.receive(self._channel, _NO_LIMIT))
            self._send(self._answer(request))

    def _send(self, message: Any) -> None:
        for stream in self._streams:
            judging.flush(stream)
        body = values.pack(message)
        if len(body) > wire.MAX_BYTES and message[0] == "raise":
            message[1][3] = None  # what it was raised with; its text says enough
            body = values.pack(message)
        if len(body) > wire.MAX_BYTES:
            body = values.pack(["unsendable", "a value of more than 8 MiB"])
        wire.send(self._channel, body)

    def _answer(self, request: list[Any]) -> list[Any]:
        """Do what is asked. Whatever goes wrong is the answer."""
        verb, *forms = request
        known: list[Any] = []
        decoder = self._handles.decoder(known)
        given: list[Any] = []
        before: list[str] = []
        error: BaseException | None = None
        value = None
        try:
            arguments = [decoder.decode(form) for form in forms]
            given = list(known)
            before = values.take_snapshot(given, self._handles.encoder(known)) if given else []
            value = _DO[verb](self, *arguments)
        except StopIteration as end:
            if verb == "next":
                return ["stop"]
            error = end
        except BaseException as raised:  # noqa: BLE001 - a candidate may raise anything
            judging.release_reserve(raised)
            error = raised
        try:
            encoder = self._handles.encoder(known)
            form = ["ok", encoder.encode(value)]
            if error is not None:
                form = ["raise", self._handles.encode_exception(error, encoder)]
            return [*form, encoder.encode_changes(given, before)]
        except values.Unsendable as unsendable:
            return ["unsendable", str(unsendable)]
        except BaseException as raised:  # noqa: BLE001 - what is asked of its objects is its code
            return ["raise", self._handles.encode_exception(raised, None), []]

    def call_back(self, number: int, args: Any, kwargs: Any) -> Any:
        """Ask the evaluator to call what it has handed over."""
        with self._turn:
            known: list[Any] = []
            encoder = self._handles.encoder(known)
            forms = [encoder.encode(args), encoder.encode(kwargs)]
            given = list(known)
            self._send(["back", number, *forms])
            kind, *rest = self._wait_for_reply()
            if kind == "stop":
                raise StopIteration
            said, changes = rest
            decoder = self._handles.decoder(known)
            result = decoder.decode(said)
            decoder.apply_changes(given, changes)
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
        """What the candidate has defined, and what kind of thing it is."""
        found = []
        for name, value in list(self._module.__dict__.items()):
            if type(name) is not str or (name[:2] == "__" and name[-2:] == "__"):
                continue
            kind = type(value)
            form = None
            try:
                if kind is _FUNCTION or isinstance(value, type) or callable(value):
                    form = self._handles.encoder([]).encode(value)
                elif kind is type(sys):
                    form = ["m", str(value.__name__)]
            except BaseException as odd:  # noqa: BLE001 - a class of its own can raise at anything
                del odd
            found.append([name, form])
        return found

    def get(self, name: str) -> Any:
        """A global of the candidate's."""
        return self._module.__dict__[name]

    def put(self, name: str, value: Any) -> None:
        """A global list, dict or set has been changed by a target."""
        mine: Any = self._module.__dict__.get(name)
        if type(mine) is not type(value):
            self._module.__dict__[name] = value
        elif type(mine) is list:
            mine[:] = value
        else:
            mine.clear()
            mine.update(value)

    def capture(self) -> None:
        """From here on, keep what is printed."""
        self._captured.append(sys.stdout)
        sys.stdout = io.StringIO()

    def end_capture(self) -> str:
        """What was printed since."""
        kept, sys.stdout = sys.stdout, self._captured.pop()
        return str(kept.getvalue()) if isinstance(kept, io.StringIO) else ""


def _await(_: _CandidateProcess, coroutine: Any) -> Any:
    import asyncio

    return asyncio.run(coroutine)


def _exit_block(_: _CandidateProcess, thing: Any, error: BaseException | None) -> bool:
    return bool(thing.__exit__(type(error) if error else None, error, None))


_DO: dict[str, Callable[..., Any]] = {
    "get": _CandidateProcess.get,
    "put": _CandidateProcess.put,
    "capture": _CandidateProcess.capture,
    "captured": _CandidateProcess.end_capture,
    "await": _await,
    "call": lambda _, thing, args, kwargs: thing(*args, **kwargs),
    "method": lambda _, thing, name, args, kwargs: getattr(thing, name)(*args, **kwargs),
    "attr": lambda _, thing, name: getattr(thing, name),
    "setattr": lambda _, thing, name, value: setattr(thing, name, value),
    "delattr": lambda _, thing, name: delattr(thing, name),
    "base": lambda _, thing: base_value(thing),
    "len": lambda _, thing: len(thing),
    "iter": lambda _, thing: iter(thing),
    "next": lambda _, thing: next(thing),
    "reversed": lambda _, thing: reversed(thing),
    "getitem": lambda _, thing, key: thing[key],
    "setitem": lambda _, thing, key, value: thing.__setitem__(key, value),
    "delitem": lambda _, thing, key: thing.__delitem__(key),
    "str": lambda _, thing: str(thing),
    "repr": lambda _, thing: repr(thing),
    "format": lambda _, thing, spec: format(thing, spec),
    "bool": lambda _, thing: bool(thing),
    "int": lambda _, thing: int(thing),
    "float": lambda _, thing: float(thing),
    "complex": lambda _, thing: complex(thing),
    "index": lambda _, thing: thing.__index__(),
    "dir": lambda _, thing: dir(thing),
    "enter": lambda _, thing: thing.__enter__(),
    "exit": _exit_block,
    "copy": lambda _, thing: __import__("copy").copy(thing),
    "deepcopy": lambda _, thing: __import__("copy").deepcopy(thing),
    "isinstance": lambda _, value, thing: isinstance(value, thing),
    "issubclass": lambda _, value, thing: issubclass(value, thing),
}


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
        return _HandleEncoder(self, known)

    def decoder(self, known: list[Any]) -> values.Decoder:
        """For one message."""
        return _HandleDecoder(self, known)

    def number_of(self, value: Any) -> int:
        """Of an object, which from now on stays."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return number

    def encode_exception(self, error: BaseException, encoder: values.Encoder | None) -> list[Any]:
        """The form of an exception, whatever it is like."""
        arguments = None
        try:
            arguments = encoder.encode_all(error.args) if encoder else None
        except BaseException as unsendable:  # noqa: BLE001 - it is described by its text then
            del unsendable
        return [
            "x",
            self.number_of(error),
            self.encode_exception_class(type(error)),
            arguments,
            _exception_text(error),
        ]

    def encode_exception_class(self, kind: type) -> list[Any]:
        """The form of an exception class."""
        name, base = _class_name(kind), _builtin_base(kind)
        if getattr(builtins, name, None) is kind:
            return ["e", None, name, name, [], ""]
        bases = [
            self.encode_exception_class(parent)
            for parent in kind.__bases__
            if issubclass(parent, BaseException)
            and getattr(builtins, _class_name(parent), 0) is not parent
        ]
        module = kind.__module__ if type(kind.__module__) is str else ""
        return ["e", self.number_of(kind), name, base, bases, module]


def _class_name(kind: type) -> str:
    """Past whatever its metaclass makes of it."""
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


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


class _HandleEncoder(values.Encoder):
    def __init__(self, handles: Handles, known: list[Any]) -> None:
        super().__init__(known)
        self._handles = handles

    def _encode_other(self, value: Any) -> Any:
        kind = type(value)
        if kind is _RemoteFunction or kind is _RemoteIterator:
            return ["f", value.number]
        if isinstance(value, BaseException):
            return self._handles.encode_exception(value, self)
        if isinstance(value, type) and issubclass(value, BaseException):
            return self._handles.encode_exception_class(value)
        number = self._handles.number_of(value)
        name = _class_name(value if isinstance(value, type) else kind)
        if issubclass(kind, _BASES):
            return ["v", number, name, self.encode(base_value(value))]
        if kind is _COROUTINE:
            return ["k", number, name]
        alike = isinstance(value, type) or getattr(kind, "__eq__", None) is object.__eq__
        return ["h", number, name, alike]


class _HandleDecoder(values.Decoder):
    def __init__(self, handles: Handles, known: list[Any]) -> None:
        super().__init__(known)
        self._handles = handles

    def _special_decoder(self, tag: str) -> Callable[[Any, list[Any]], Any]:
        handles = self._handles
        if tag == "h":
            return lambda _, form: handles.objects[form[0]]
        if tag == "g":
            return lambda _, form: handles.names[form[0]]
        if tag == "f":
            return lambda _, form: _RemoteFunction(handles.call_back, *form)
        if tag == "n":
            return lambda _, form: _RemoteIterator(handles.call_back, form[0])
        if tag == "X":
            return lambda _, form: getattr(builtins, form[0])(*self.decode_all(form[1:]))
        if tag == "m":
            return lambda _, form: __import__(form[0])
        return super()._special_decoder(tag)


class _RemoteFunction:
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


class _RemoteIterator:
    """An iterator of the evaluator's."""

    def __init__(self, call_back: CallBack, number: int) -> None:
        self._call_back, self.number = call_back, number

    def __iter__(self) -> _RemoteIterator:
        return self

    def __next__(self) -> Any:
        return self._call_back(self.number, (), {})
