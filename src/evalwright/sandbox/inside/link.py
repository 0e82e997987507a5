"""The evaluator's end of the conversation with the candidate: `candidate` shows what is said.

Every word from the other side may be a lie. It is taken apart by exact types, and what does not fit
ends the process with a `died` record: no verdict is built on it.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock

from . import judging, proxies, values, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


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
        self.callbacks: list[Callable[..., Any]] = []
        self.stand_ins: dict[int, Any] = {}
        """What stands here for an object of the candidate's, by its number: always the same."""
        self.before_request: Callable[[], None] = lambda: None
        self.exceptions = proxies.Exceptions(self)

    def run(self, source: str) -> tuple[str, str, list[Any]]:
        """Have the candidate run its source: outcome, detail, names."""
        try:
            wire.send(self._channel, source.encode("utf-8", "surrogatepass"))
            message = self._receive()
        except wire.Closed as error:
            self._report_death(error)
        match message:
            case [("ran" | "syntax_error" | "error") as outcome, str(detail), list(names)]:
                return outcome, judging.shorten(detail), names
        return self._report_death(ValueError("an outcome that does not exist"))

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
        encoder = _ProxyEncoder(self, known)
        try:
            body = values.pack([verb, *(encoder.encode(argument) for argument in arguments)])
        except values.Unsendable as error:
            raise self.distrust(f"{error} cannot be passed to the candidate") from None
        if len(body) > wire.MAX_BYTES:
            raise self.distrust("more than 8 MiB cannot be passed to the candidate")
        return self._exchange(verb, body, known)

    def distrust(self, why: str) -> Untrusted:
        """Remember that the present target has no verdict, whatever it makes of the exception."""
        self.untrusted = self.untrusted or judging.shorten(why)
        return Untrusted(why)

    def encode(self, value: Any) -> str:
        """A text that is another when the value is."""
        try:
            return values.dumps(_ProxyEncoder(self, []).encode(value))
        except (values.Unsendable, RecursionError):
            return ""

    def _exchange(self, verb: str, body: bytes, known: list[Any]) -> Any:
        given = list(known)
        try:
            wire.send(self._channel, body)
            while (reply := self._receive())[0] == "back":
                wire.send(self._channel, self._run_callback(reply))
            return self._read_reply(verb, reply, known, given)
        except (wire.Closed, values.BadValue) as error:
            self._report_death(error)

    def _receive(self) -> list[Any]:
        try:
            message = values.unpack(wire.receive(self._channel))
        except (wire.BadFrame, ValueError, RecursionError, MemoryError) as error:
            self._report_death(error)
        if type(message) is not list or not message:
            self._report_death(ValueError("an empty message"))
        return message

    def _read_reply(self, verb: str, reply: list[Any], known: list[Any], given: list[Any]) -> Any:
        decoder = _ProxyDecoder(self, known)
        if reply == ["stop"] and verb == "next":
            raise StopIteration
        match reply:
            case ["ok", form, list(changes)]:
                value = decoder.decode(form)
                decoder.apply_changes(given, changes)
                return value
            case ["raise", ["x", *_] as form, list(changes)]:
                error = decoder.decode(form)
                decoder.apply_changes(given, changes)
                raise proxies.without_stop(error)
            case ["unsendable", str(why)]:
                raise self.distrust(f"the candidate's answer cannot be passed: {why}")
        raise values.BadValue("no reply")

    def _run_callback(self, message: list[Any]) -> bytes:
        """Call a function of ours on the candidate's behalf: only one that it was given."""
        known: list[Any] = []
        decoder = _ProxyDecoder(self, known)
        match message:
            case [_, int(number), args_form, kwargs_form] if 0 <= number < len(self.callbacks):
                args, kwargs = decoder.decode(args_form), decoder.decode(kwargs_form)
            case _:
                raise values.BadValue("a call of what was never handed over")
        if type(args) is not tuple or type(kwargs) is not dict or set(map(type, kwargs)) - {str}:
            raise values.BadValue("a call without arguments")
        given = list(known)
        encoder = _ProxyEncoder(self, known)
        before = values.take_snapshot(given, encoder)
        try:
            result = self.callbacks[number](*args, **kwargs)
            try:
                form = ["ok", encoder.encode(result)]
            finally:
                if hasattr(result, "cr_await"):
                    result.close()  # a coroutine that nobody will wait for
            return values.pack([*form, encoder.encode_changes(given, before)])
        except StopIteration:
            return values.pack(["stop"])
        except values.Unsendable as error:
            form = ["X", "TypeError", str(self.distrust(f"{error} cannot be passed"))]
        except BaseException as error:  # noqa: BLE001 - it goes on where the call came from
            form = proxies.encode_exception(error, encoder)
        return values.pack(["raise", form, []])

    def add_callback(self, function: Callable[..., Any]) -> int:
        """Let the candidate call a function, by its number."""
        self.callbacks.append(function)
        return len(self.callbacks) - 1

    def _report_death(self, error: Exception) -> NoReturn:
        """The candidate's process has ended, or might as well have."""
        if isinstance(error, wire.Closed):
            code = os.waitstatus_to_exitcode(os.waitpid(self._candidate, 0)[1])
            detail = f"the candidate's process {judging.describe_exit(code)}"
        else:
            detail = f"the candidate's process sent what is no reply: {judging.describe(error)}"
        self._say("died", detail=detail)
        os._exit(0)


class _ProxyEncoder(values.Encoder):
    def __init__(self, link: Link, known: list[Any]) -> None:
        super().__init__(known)
        self._link = link

    def _encode_other(self, value: Any) -> Any:
        form = proxies.candidate_form(value)
        if form is not None:
            return form
        if isinstance(value, BaseException):
            return proxies.encode_exception(value, self)
        if type(value) is type(sys):
            return ["m", value.__name__]
        if callable(value):
            name = getattr(value, "__name__", "")
            return ["f", self._link.add_callback(value), name if type(name) is str else ""]
        if hasattr(type(value), "__next__") and not hasattr(value, "read"):
            return ["n", self._link.add_callback(value.__next__)]
        return super()._encode_other(value)


class _ProxyDecoder(values.Decoder):
    def __init__(self, link: Link, known: list[Any]) -> None:
        super().__init__(known)
        self._link = link

    def _special_decoder(self, tag: str) -> Callable[[Any, list[Any]], Any]:
        return _SPECIAL.get(tag) or super()._special_decoder(tag)

    def decode_object(self, form: list[Any]) -> Any:
        """A stand-in."""
        (number, name), alike = _read_number(form[:2]), form[2:] == [True]
        if number not in self._link.stand_ins:
            self._link.stand_ins[number] = proxies.make_proxy(self._link, number, name, alike=alike)
        return self._link.stand_ins[number]

    def decode_value(self, form: list[Any]) -> Any:
        """A builtin with a class of the candidate's behind it."""
        number, _ = _read_number(form[:2])
        base = self.decode(form[2])
        if number not in self._link.stand_ins:
            self._link.stand_ins[number] = proxies.make_value(self._link, number, base)
        return self._link.stand_ins[number]

    def decode_exception_class(self, form: list[Any]) -> Any:
        """A class of ours for one of the candidate's."""
        return self._link.exceptions.find_class(form)

    def decode_exception(self, form: list[Any]) -> Any:
        """An exception of ours for one of the candidate's."""
        number, kind, arguments, text = form
        if type(number) is not int or type(kind) is not list or type(text) is not str:
            raise values.BadValue("no exception")
        if number not in self._link.stand_ins:
            args = self.decode_all(arguments) if type(arguments) is list else [text]
            made = self._link.exceptions.make(number, kind[1:], args, text)
            self._link.stand_ins[number] = made
        return self._link.stand_ins[number]

    def decode_coroutine(self, form: list[Any]) -> Any:
        """A coroutine of ours that has the candidate's run to its end."""
        number, name = _read_number(form)
        link, proxy = self._link, proxies.make_proxy(self._link, number, name, alike=True)

        async def run() -> Any:
            return link.ask("await", proxy)

        return run()

    def decode_own_function(self, form: list[Any]) -> Any:
        """A function of ours comes back."""
        (number,) = form
        if type(number) is not int or number < 0:
            raise values.BadValue("a function without a number")
        return self._link.callbacks[number]


def _read_number(form: list[Any]) -> tuple[int, str]:
    number, name = form
    if type(number) is not int or type(name) is not str:
        raise values.BadValue("an object without a number")
    return number, name[: proxies.MAX_NAME]


_SPECIAL: dict[str, Callable[[Any, list[Any]], Any]] = {
    "h": _ProxyDecoder.decode_object,
    "v": _ProxyDecoder.decode_value,
    "e": _ProxyDecoder.decode_exception_class,
    "x": _ProxyDecoder.decode_exception,
    "k": _ProxyDecoder.decode_coroutine,
    "f": _ProxyDecoder.decode_own_function,
}
