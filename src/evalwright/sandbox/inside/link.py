"""The evaluator's end of the conversation with the candidate; `candidate` documents the messages.

Nothing from the other side is trusted. It is decoded by exact types, and what does not fit ends the
process with a `died` record.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar, NoReturn

from . import judging, proxies, values, wire


class Untrusted(TypeError):
    """A verdict would rest on the candidate's own code, or cannot be had from here."""


class Link:
    """Asks the candidate, and runs its callbacks."""

    def __init__(self, channel: int, candidate: int, say: judging.Say) -> None:
        self._channel, self._candidate, self._say = channel, candidate, say
        self._turn = RLock()  # a target may have threads
        self._stdout = sys.stdout
        self.untrusted = ""
        """What the present target has done that no verdict can rest on."""
        self.callbacks: list[Callable[..., Any]] = []
        self.stand_ins: dict[int, Any] = {}
        """Return the proxy of an object of the candidate, by its number: always the same."""
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
        """Return the answer to a request, or raise the exception that it raised over there."""
        with self._turn:
            if verb != "call" or sys.stdout is self._stdout:
                return self._ask(verb, *arguments)
            # A target that captures stdout sees what is printed over there.
            self._ask("capture")
            try:
                return self._ask(verb, *arguments)
            finally:
                sys.stdout.write(str(self._ask("captured")))

    def _ask(self, verb: str, *arguments: Any) -> Any:
        self.before_request()
        known: list[Any] = []
        encoder = _ProxyEncoder(known, self)
        try:
            body = values.pack([verb, *(encoder.encode(argument) for argument in arguments)])
        except values.Unsendable as error:
            raise self.distrust(f"{error} cannot be passed to the candidate") from None
        if len(body) > wire.MAX_BYTES:
            raise self.distrust("more than 8 MiB cannot be passed to the candidate")
        passed = list(known)
        try:
            wire.send(self._channel, body)
            while (reply := self._receive())[0] == "back":
                wire.send(self._channel, self._run_callback(reply))
            return self._read_reply(verb, reply, known, passed)
        except (wire.Closed, values.BadValue) as error:
            self._report_death(error)

    def distrust(self, why: str) -> Untrusted:
        """Mark the present target as without verdict, whatever it does with the exception."""
        self.untrusted = self.untrusted or judging.shorten(why)
        return Untrusted(why)

    def encode(self, value: Any) -> str:
        """A text that changes when the value does."""
        try:
            return values.dumps(_ProxyEncoder([], self).encode(value))
        except (values.Unsendable, RecursionError):
            return ""

    def _receive(self) -> list[Any]:
        try:
            message = values.unpack(wire.receive(self._channel))
        except (wire.BadFrame, ValueError, RecursionError, MemoryError) as error:
            self._report_death(error)
        if type(message) is not list or not message:
            self._report_death(ValueError("an empty message"))
        return message

    def _read_reply(self, verb: str, reply: list[Any], known: list[Any], passed: list[Any]) -> Any:
        decoder = _ProxyDecoder(known, self)
        if reply == ["stop"] and verb == "next":
            raise StopIteration
        match reply:
            case ["ok", form, list(changes)]:
                value = decoder.decode(form)
                decoder.apply_changes(passed, changes)
                return value
            case ["raise", ["x", *_] as form, list(changes)]:
                error = decoder.decode(form)
                decoder.apply_changes(passed, changes)
                if isinstance(error, (StopIteration, StopAsyncIteration)):
                    # A loop of ours would take this for its end, and not for a mistake.
                    error = RuntimeError(f"the candidate raised {type(error).__name__}")
                raise error
            case ["unsendable", str(why)]:
                raise self.distrust(f"the candidate's answer cannot be passed: {why}")
        raise values.BadValue("no reply")

    def _run_callback(self, message: list[Any]) -> bytes:
        """Call a function of ours on the candidate's behalf: only one that it was given."""
        known: list[Any] = []
        decoder = _ProxyDecoder(known, self)
        match message:
            case [_, int(number), args_form, kwargs_form] if 0 <= number < len(self.callbacks):
                args, kwargs = decoder.decode(args_form), decoder.decode(kwargs_form)
            case _:
                raise values.BadValue("a call of what was never handed over")
        if type(args) is not tuple or type(kwargs) is not dict or set(map(type, kwargs)) - {str}:
            raise values.BadValue("a call without arguments")
        passed = list(known)
        encoder = _ProxyEncoder(known, self)
        before = values.take_snapshot(passed, encoder)
        try:
            result = self.callbacks[number](*args, **kwargs)
            try:
                form = ["ok", encoder.encode(result)]
            finally:
                if hasattr(result, "cr_await"):
                    result.close()  # a coroutine that nobody will wait for
            return values.pack([*form, encoder.encode_changes(passed, before)])
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
            detail = f"the candidate's process sent an invalid reply: {judging.describe(error)}"
        self._say("died", detail=detail)
        os._exit(0)


class _ProxyEncoder(values.Encoder):
    _side: Link

    def _encode_other(self, value: Any) -> Any:
        form = proxies.candidate_form(value)
        if form is not None:
            return form
        if isinstance(value, BaseException):
            return proxies.encode_exception(value, self)
        if type(value) is ModuleType:
            return ["m", value.__name__]
        if callable(value):
            name = getattr(value, "__name__", "")
            return ["f", self._side.add_callback(value), name if type(name) is str else ""]
        if hasattr(type(value), "__next__") and not hasattr(value, "read"):
            return ["n", self._side.add_callback(value.__next__)]
        return super()._encode_other(value)


class _ProxyDecoder(values.Decoder):
    _side: Link

    def _decode_object(self, form: list[Any]) -> Any:
        (number, name), alike = _read_number(form[:2]), form[2:] == [True]
        if number not in self._side.stand_ins:
            proxy = proxies.Proxy(self._side, ["h", number], name, alike=alike)
            self._side.stand_ins[number] = proxy
        return self._side.stand_ins[number]

    def _decode_value(self, form: list[Any]) -> Any:
        """A builtin with a class of the candidate's behind it."""
        number, _ = _read_number(form[:2])
        base = self.decode(form[2])
        if number not in self._side.stand_ins:
            self._side.stand_ins[number] = proxies.make_value(self._side, number, base)
        return self._side.stand_ins[number]

    def _decode_exception_class(self, form: list[Any]) -> Any:
        return self._side.exceptions.find_class(form)

    def _decode_exception(self, form: list[Any]) -> Any:
        number, kind, arguments, text = form
        if type(number) is not int or type(kind) is not list or type(text) is not str:
            raise values.BadValue("no exception")
        if number not in self._side.stand_ins:
            args = self.decode_all(arguments) if type(arguments) is list else [text]
            error = self._side.exceptions.make(number, kind[1:], args, text)
            self._side.stand_ins[number] = error
        return self._side.stand_ins[number]

    def _decode_coroutine(self, form: list[Any]) -> Any:
        """A coroutine of ours that has the candidate's run to its end."""
        number, name = _read_number(form)
        link, proxy = self._side, proxies.Proxy(self._side, ["h", number], name, alike=True)

        async def run() -> Any:
            return link.ask("await", proxy)

        return run()

    def _decode_own_function(self, form: list[Any]) -> Any:
        (number,) = form
        if type(number) is not int or number < 0:
            raise values.BadValue("a function without a number")
        return self._side.callbacks[number]

    decoders: ClassVar[values.Decoders] = {
        **values.Decoder.decoders,
        "h": _decode_object,
        "v": _decode_value,
        "e": _decode_exception_class,
        "x": _decode_exception,
        "k": _decode_coroutine,
        "f": _decode_own_function,
    }


def _read_number(form: list[Any]) -> tuple[int, str]:
    number, name = form
    if type(number) is not int or type(name) is not str:
        raise values.BadValue("an object without a number")
    return number, name[: proxies.MAX_NAME]
