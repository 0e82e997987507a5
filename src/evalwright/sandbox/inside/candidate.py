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
Of objects that have no form of their own, and exceptions, more is said in `handles`.

Nothing in here is trusted: the candidate can do what it likes to this process. What is kept safe
from honest candidates that patch things is kept safe for their own sake.
"""

from __future__ import annotations

import builtins
import io
import sys
from _thread import RLock
from os import _exit

from . import handles, judging, values, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_NO_LIMIT = 1 << 31
_REPLIES = frozenset({"ok", "raise", "stop"})
_FUNCTION = type(lambda: 0)


def main(channel: int) -> NoReturn:
    """Run the source that comes first, then answer until the evaluator goes away."""
    try:
        _Side(channel).serve()
    except wire.Closed:
        _exit(0)
    finally:
        _exit(1)


class _Side:
    """This side of the conversation."""

    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._streams = (sys.stdout, sys.stderr)
        self._turn = RLock()
        self._captured: list[Any] = []
        self._module = judging.new_module()
        self._handles = handles.Handles(self.call_back, self._module.__dict__)

    def serve(self) -> None:
        source = wire.receive(self._channel, _NO_LIMIT).decode("utf-8", "surrogatepass")
        # Its own builtins: what it does to them is done to itself, and not to this.
        own = type(sys)("builtins")
        own.__dict__.update(builtins.__dict__)
        sys.modules["builtins"] = own
        self._module.__dict__["__builtins__"] = own.__dict__
        outcome, detail = judging.run(source, self._module.__dict__)
        del source
        self._send([outcome, detail, self._names()])
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
            before = values.snapshot(given, self._handles.encoder(known)) if given else []
            value = _DO[verb](self, *arguments)
        except StopIteration as end:
            if verb == "next":
                return ["stop"]
            error = end
        except BaseException as raised:  # noqa: BLE001 - a candidate may raise anything
            judging.relieve(raised)
            error = raised
        try:
            encoder = self._handles.encoder(known)
            form = ["ok", encoder.encode(value)]
            if error is not None:
                form = ["raise", self._handles.exception(error, encoder)]
            return [*form, encoder.changes(given, before)]
        except values.Unsendable as unsendable:
            return ["unsendable", str(unsendable)]
        except BaseException as raised:  # noqa: BLE001 - what is asked of its objects is its code
            return ["raise", self._handles.exception(raised, None), []]

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
            decoder.change(given, changes)
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

    def _names(self) -> list[list[Any]]:
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

    def captured(self) -> str:
        """What was printed since."""
        kept, sys.stdout = sys.stdout, self._captured.pop()
        return str(kept.getvalue()) if isinstance(kept, io.StringIO) else ""


def _await(_: _Side, coroutine: Any) -> Any:
    import asyncio

    return asyncio.run(coroutine)


def _exit_block(_: _Side, thing: Any, error: BaseException | None) -> bool:
    return bool(thing.__exit__(type(error) if error else None, error, None))


_DO: dict[str, Callable[..., Any]] = {
    "get": _Side.get,
    "put": _Side.put,
    "capture": _Side.capture,
    "captured": _Side.captured,
    "await": _await,
    "call": lambda _, thing, args, kwargs: thing(*args, **kwargs),
    "method": lambda _, thing, name, args, kwargs: getattr(thing, name)(*args, **kwargs),
    "attr": lambda _, thing, name: getattr(thing, name),
    "setattr": lambda _, thing, name, value: setattr(thing, name, value),
    "delattr": lambda _, thing, name: delattr(thing, name),
    "base": lambda _, thing: handles.base_value(thing),
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
