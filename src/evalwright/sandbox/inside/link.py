"""The evaluator's end of the conversation with the candidate: `candidate` shows what is said.

Every word from the other side may be a lie. It is taken apart by exact types, and what does not fit
ends the process with a `died` record: no verdict is built on it.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock

from . import exceptions, judging, values, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_MAX_NAME = 80


class Untrusted(TypeError):
    """A verdict would rest on the candidate's own code, or cannot be had from here."""


class Link:
    """Asks, and is asked back."""

    def __init__(self, channel: int, candidate: int, say: judging.Say) -> None:
        self._channel, self._candidate, self._say = channel, candidate, say
        self._turn = RLock()  # a target may have threads
        self._stdout = sys.stdout
        self.untrusted = ""
        """What the present target has done that no verdict can rest on."""
        self.handed_over: list[Callable[..., Any]] = []
        self.standing_in: dict[int, Any] = {}
        """What stands here for an object of the candidate's, by its number: always the same."""
        self.before_request: Callable[[], None] = lambda: None
        self.proxy: Callable[[Link, int, str, bool], Any]
        self.valued: Callable[[Link, int, str, Any], Any]
        self.exceptions = exceptions.Exceptions(self)

    def run(self, source: str) -> tuple[str, str, list[Any]]:
        """Have the candidate run its source: outcome, detail, names."""
        try:
            wire.send(self._channel, source.encode("utf-8", "surrogatepass"))
            message = self._receive()
        except wire.Closed as error:
            self._died(error)
        match message:
            case [("ran" | "syntax_error" | "error") as outcome, str(detail), list(names)]:
                return outcome, judging.plain(detail), names
        return self._died(ValueError("an outcome that does not exist"))

    def ask(self, verb: str, *arguments: Any) -> Any:
        """One question: its answer, or the exception that it raised over there."""
        with self._turn:
            if verb != "call" or sys.stdout is self._stdout:
                return self._ask(verb, *arguments)
            # A target that looks at what is printed sees what is printed over there.
            self._ask("capture")
            try:
                return self._ask(verb, *arguments)
            finally:
                sys.stdout.write(str(self._ask("captured")))

    def _ask(self, verb: str, *arguments: Any) -> Any:
        self.before_request()
        known: list[Any] = []
        encoder = _Encoder(self, known)
        try:
            body = values.pack([verb, *(encoder.encode(argument) for argument in arguments)])
        except values.Unsendable as error:
            raise self.distrust(f"{error} cannot be passed to the candidate") from None
        if len(body) > wire.MAX_BYTES:
            raise self.distrust("more than 8 MiB cannot be passed to the candidate")
        return self._exchange(verb, body, known)

    def distrust(self, why: str) -> Untrusted:
        """Remember that the present target has no verdict, whatever it makes of the exception."""
        self.untrusted = self.untrusted or judging.plain(why)
        return Untrusted(why)

    def form_of(self, value: Any) -> str:
        """A text that is another when the value is."""
        try:
            return values.dumps(_Encoder(self, []).encode(value))
        except (values.Unsendable, RecursionError):
            return ""

    def _exchange(self, verb: str, body: bytes, known: list[Any]) -> Any:
        given = list(known)
        try:
            wire.send(self._channel, body)
            while (reply := self._receive())[0] == "back":
                wire.send(self._channel, self._called_back(reply))
            return self._understand(verb, reply, known, given)
        except (wire.Closed, values.BadValue) as error:
            self._died(error)

    def _receive(self) -> list[Any]:
        try:
            message = values.unpack(wire.receive(self._channel))
        except (wire.BadFrame, ValueError, RecursionError, MemoryError) as error:
            self._died(error)
        if type(message) is not list or not message:
            self._died(ValueError("an empty message"))
        return message

    def _understand(self, verb: str, reply: list[Any], known: list[Any], given: list[Any]) -> Any:
        decoder = _Decoder(self, known)
        if reply == ["stop"] and verb == "next":
            raise StopIteration
        match reply:
            case ["ok", form, list(changes)]:
                value = decoder.decode(form)
                decoder.change(given, changes)
                return value
            case ["raise", ["x", *_] as form, list(changes)]:
                error = decoder.decode(form)
                decoder.change(given, changes)
                raise exceptions.no_end(error)
            case ["unsendable", str(why)]:
                raise self.distrust(f"the candidate's answer cannot be passed: {why}")
        raise values.BadValue("no reply")

    def _called_back(self, message: list[Any]) -> bytes:
        """Call a function of ours on the candidate's behalf: only one that it was given."""
        known: list[Any] = []
        decoder = _Decoder(self, known)
        match message:
            case [_, int(number), args_form, kwargs_form] if 0 <= number < len(self.handed_over):
                args, kwargs = decoder.decode(args_form), decoder.decode(kwargs_form)
            case _:
                raise values.BadValue("a call of what was never handed over")
        if type(args) is not tuple or type(kwargs) is not dict or set(map(type, kwargs)) - {str}:
            raise values.BadValue("a call without arguments")
        given = list(known)
        encoder = _Encoder(self, known)
        before = values.snapshot(given, encoder)
        try:
            result = self.handed_over[number](*args, **kwargs)
            try:
                form = ["ok", encoder.encode(result)]
            finally:
                if hasattr(result, "cr_await"):
                    result.close()  # a coroutine that nobody will wait for
            return values.pack([*form, encoder.changes(given, before)])
        except StopIteration:
            return values.pack(["stop"])
        except values.Unsendable as error:
            form = ["X", "TypeError", str(self.distrust(f"{error} cannot be passed"))]
        except BaseException as error:  # noqa: BLE001 - it goes on where the call came from
            form = exceptions.form_of(error, encoder)
        return values.pack(["raise", form, []])

    def hand_over(self, function: Callable[..., Any]) -> int:
        """Let the candidate call a function, by its number."""
        self.handed_over.append(function)
        return len(self.handed_over) - 1

    def _died(self, error: Exception) -> NoReturn:
        """The candidate's process has ended, or might as well have."""
        if isinstance(error, wire.Closed):
            code = os.waitstatus_to_exitcode(os.waitpid(self._candidate, 0)[1])
            detail = f"the candidate's process {judging.ending(code)}"
        else:
            detail = f"the candidate's process sent what is no reply: {judging.describe(error)}"
        self._say("died", detail=detail)
        os._exit(0)


class _Encoder(values.Encoder):
    def __init__(self, link: Link, known: list[Any]) -> None:
        super().__init__(known)
        self._link = link

    def _other(self, value: Any) -> Any:
        form = there(value)
        if form is not None:
            return form
        if isinstance(value, BaseException):
            return exceptions.form_of(value, self)
        if type(value) is type(sys):
            return ["m", value.__name__]
        if callable(value):
            name = getattr(value, "__name__", "")
            return ["f", self._link.hand_over(value), name if type(name) is str else ""]
        if hasattr(type(value), "__next__") and not hasattr(value, "read"):
            return ["n", self._link.hand_over(value.__next__)]
        return super()._other(value)


def there(value: Any) -> list[Any] | None:
    """How the candidate knows an object of its own that we have a stand-in for."""
    if isinstance(value, type):
        number = value.__dict__.get("_number")
        return None if number is None else ["h", number]
    try:
        form: list[Any] = object.__getattribute__(value, "_there")
    except AttributeError:
        return None
    return form


class _Decoder(values.Decoder):
    def __init__(self, link: Link, known: list[Any]) -> None:
        super().__init__(known)
        self._link = link

    def _special(self, tag: str) -> Callable[[Any, list[Any]], Any]:
        return _SPECIAL.get(tag) or super()._special(tag)

    def object(self, form: list[Any]) -> Any:
        """A stand-in."""
        (number, name), alike = _numbered(form[:2]), form[2:] == [True]
        if number not in self._link.standing_in:
            self._link.standing_in[number] = self._link.proxy(self._link, number, name, alike)
        return self._link.standing_in[number]

    def valued(self, form: list[Any]) -> Any:
        """A builtin with a class of the candidate's behind it."""
        number, name = _numbered(form[:2])
        base = self.decode(form[2])
        if number not in self._link.standing_in:
            self._link.standing_in[number] = self._link.valued(self._link, number, name, base)
        return self._link.standing_in[number]

    def exception_class(self, form: list[Any]) -> Any:
        """A class of ours for one of the candidate's."""
        return self._link.exceptions.class_of(form)

    def exception(self, form: list[Any]) -> Any:
        """An exception of ours for one of the candidate's."""
        number, kind, arguments, text = form
        if type(number) is not int or type(kind) is not list or type(text) is not str:
            raise values.BadValue("no exception")
        if number not in self._link.standing_in:
            args = self.all(arguments) if type(arguments) is list else [text]
            made = self._link.exceptions.made(number, kind[1:], args, text)
            self._link.standing_in[number] = made
        return self._link.standing_in[number]

    def coroutine(self, form: list[Any]) -> Any:
        """A coroutine of ours that has the candidate's run to its end."""
        number, name = _numbered(form)
        link, proxy = self._link, self._link.proxy(self._link, number, name, True)  # noqa: FBT003

        async def run() -> Any:
            return link.ask("await", proxy)

        return run()

    def own(self, form: list[Any]) -> Any:
        """A function of ours comes back."""
        (number,) = form
        if type(number) is not int or number < 0:
            raise values.BadValue("a function without a number")
        return self._link.handed_over[number]


def _numbered(form: list[Any]) -> tuple[int, str]:
    number, name = form
    if type(number) is not int or type(name) is not str:
        raise values.BadValue("an object without a number")
    return number, name[:_MAX_NAME]


_SPECIAL: dict[str, Callable[[Any, list[Any]], Any]] = {
    "h": _Decoder.object,
    "v": _Decoder.valued,
    "e": _Decoder.exception_class,
    "x": _Decoder.exception,
    "k": _Decoder.coroutine,
    "f": _Decoder.own,
}
