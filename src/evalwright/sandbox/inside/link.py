"""The evaluator's end of the conversation with the candidate; `candidate` documents the messages.

Nothing from the other side is trusted. It is decoded by exact types, and what does not fit ends the
process with a `died` record.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
from _thread import RLock
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any, ClassVar, NoReturn

from . import callbacks, exceptions, judging, proxies, subclasses, values, wire

# Questions that change nothing: until the next call, each has the same answer.
_READS = frozenset({
    "attr", "base", "bool", "complex", "float", "format", "get", "getitem", "index", "int",
    "isinstance", "issubclass", "len", "repr", "str",
})  # fmt: skip
_STEPS = frozenset({"iter", "next"})
_OPERATORS = frozenset({"binary", "capture", "captured", "compare", "iter"})
# Answers to these may be represented by `proxies.Unsent`.
_GIVES_VALUE = frozenset({
    "attr", "await", "binary", "call", "copy", "deepcopy", "enter", "get", "getitem", "method",
    "next",
})  # fmt: skip
_DESCRIPTORS = (type(str.upper), type(int.__add__))
# The reference counts of what only a list holds, in a loop over it.
_UNHELD = 3
_HANDLE_NUMBER = re.compile(r'\["([hkvx])",\d+')
# Python takes these errors for an answer, and goes on, if a method of that name raises them.
_SWALLOWED_IN = {"__getitem__": IndexError, "__getattr__": AttributeError, "__len__": TypeError}


class Untrusted(TypeError):
    """The program's own code would decide the verdict, or the evaluator cannot reach one."""


class CandidateStopped(RuntimeError):
    """The program raised an error that Python would take for the end of a loop or of a task."""


class Link:
    """Asks the candidate, and runs callbacks for it."""

    def __init__(self, channel: int, candidate: int, say: judging.Say) -> None:
        self._channel, self._candidate, self._say = channel, candidate, say
        self._turn = RLock()  # a target may have threads
        self._stdout = sys.stdout
        self._has_run = False
        self._silences = 0
        self._code: CodeType | None = None
        self.untrusted = ""
        """Why the current target has no verdict."""
        self.refused = ""
        """How the program would have decided the current target."""
        self.unsent = ""
        """Why the program could not send a value that the current target asked for."""
        self.note = ""
        """A comparison in the current target that the program had no part in."""
        self.keeps = False
        """Whether a target has kept a container of the program across a call."""
        self.has_hidden_words = False
        """Whether the program has received an error without its text."""
        self.calls = 0
        """Number of requests that may have changed something in the candidate."""
        self._requests = 0
        self._reads: dict[str, str] = {}
        self._iterations: dict[int, tuple[int, int]] = {}
        """The source and the position of iterators, by number."""
        self._items: dict[tuple[int, int], int] = {}
        """What was read at each position of a source."""
        self._received: list[Any] = []
        self.callbacks = callbacks.Callbacks()
        self._classes: dict[Any, type] = {}
        self.stand_ins: dict[int, Any] = {}
        """The proxy of each of the candidate's objects, by number: always the same."""
        self.before_request: Callable[[], None] = lambda: None
        self.exceptions = exceptions.Exceptions(self)

    def run(self, source: str) -> tuple[str, str, list[Any]]:
        """Let the candidate run its source; return outcome, detail and names."""
        try:
            with suppress(wire.Closed):  # it shows when reading
                wire.send(self._channel, source.encode("utf-8", "surrogatepass"))
            if not wire.receive_confinement(self._channel):
                self._end("the candidate's process could not be confined", "check")
            message = self._receive()
        except wire.Closed as error:
            self._report_death(error)
        match message:
            case [("ran" | "syntax_error" | "error") as outcome, str(detail), list(names)]:
                self._has_run = True
                return outcome, judging.shorten(detail), names
        return self._report_death(ValueError("an outcome that does not exist"))

    def ask(self, verb: str, *arguments: Any) -> Any:
        """Return the answer to a request, or raise the exception that the candidate raised."""
        with self._turn:
            if verb != "call" or sys.stdout is self._stdout:
                return self._ask(verb, *arguments)
            # A target that captures stdout sees what the program prints.
            self._ask("capture")
            try:
                return self._ask(verb, *arguments)
            finally:
                sys.stdout.write(str(self._ask("captured")))

    def _ask(self, verb: str, *arguments: Any) -> Any:
        self.before_request()
        self._requests += 1
        known: list[Any] = []
        encoder = _ProxyEncoder(known, self)
        if verb not in _READS:
            self._note_call(verb)
        try:
            body = values.pack([verb, *(encoder.encode(argument) for argument in arguments)])
        except values.Unsendable as error:
            raise self.distrust(f"{error} cannot be passed to the program") from None
        if len(body) > wire.MAX_BYTES:
            raise self.distrust("more than 8 MiB cannot be passed to the program")
        passed = list(known)
        try:
            wire.send(self._channel, body)
            while (reply := self._receive())[0] == "back":
                wire.send(self._channel, self._run_callback(reply))
            if verb in _READS:
                self._check_read(body, reply)
            elif verb in _STEPS:
                self._check_iteration(verb, arguments[0], reply)
            return self._read_reply(verb, reply, known, passed)
        except values.Unreceivable as error:
            raise self.distrust(f"a value of the program cannot be made here: {error}") from None
        except (wire.Closed, values.BadValue) as error:
            self._report_death(error)

    def distrust(self, why: str) -> Untrusted:
        """Leave the current target without a verdict, even if it catches the exception."""
        self.untrusted = self.untrusted or judging.shorten(why)
        return Untrusted(why)

    def refuse(self, why: str) -> Untrusted:
        """Refuse the current target, because the program itself would decide it."""
        self.refused = self.refused or judging.shorten(why)
        return Untrusted(why)

    def begin_target(self, target: judging.Target) -> None:
        """Forget what concerns the previous target."""
        self._code = target.code
        self.untrusted = self.refused = self.unsent = self.note = ""
        self.callbacks.begin_target(target.code, is_expression=target.is_expression)
        self._reads.clear()
        self._items.clear()

    def hide_words(self, kind: type[BaseException]) -> BaseException:
        """Return an error for the program that does not say what the target expected."""
        self.has_hidden_words = True
        return exceptions.make_wordless(kind)

    def _note_call(self, verb: str) -> None:
        self.calls += 1
        self._reads.clear()
        if verb not in _STEPS:
            self._items.clear()
        if verb in _OPERATORS:
            return
        # A container that only this list holds is of no interest to the target.
        self._received = [each for each in self._received if sys.getrefcount(each) > _UNHELD]
        self.keeps = self.keeps or bool(self._received)

    def _check_read(self, request: bytes, reply: list[Any]) -> None:
        """Notice a program that answers the same question in two ways."""
        answer = _mask_handles(reply)
        if self._reads.setdefault(request.decode("utf-8", "surrogatepass"), answer) != answer:
            self.distrust("what the target has read changed between two reads")

    def _check_iteration(self, verb: str, source: Any, reply: list[Any]) -> None:
        """Notice an object whose items differ between two iterations without a call between."""
        number = (proxies.candidate_form(source) or [None])[-1]
        match reply:
            case ["ok", ["h", int(iterator), *_], _] if verb == "iter" and iterator != number:
                if iterator not in self.stand_ins:  # otherwise it has begun already
                    self._iterations[iterator] = (number, 0)
        if verb == "next" and number in self._iterations:
            origin, position = self._iterations[number]
            self._iterations[number] = (origin, position + 1)
            answer = hash(_mask_handles(reply))
            if self._items.setdefault((origin, position), answer) != answer:
                self.distrust("the items that the target has read changed between two iterations")

    def find_class(self, description: Any, name: str) -> Any:
        """The class here for a class of the candidate's; `description` is None for functions."""
        match description:
            case None:
                return proxies.FUNCTION
            case [int(number), list(special), list(abstract), bool(of_type)]:
                strings = [each for each in special if type(each) is str]
                key = (number, *strings)
                if key not in self._classes:
                    self._classes[key] = proxies.make_proxy_class(
                        name, strings, abstract, of_type=of_type
                    )
                return self._classes[key]
        raise values.BadValue("no class")

    def find_subclass(self, number: Any, base: Any, name: str, redefined: Any) -> Any:
        """The class here for a subclass of a builtin."""
        if type(number) is not int or type(redefined) is not list:
            raise values.BadValue("no class")
        if type(base) not in subclasses.BASES:
            raise values.BadValue("a value of no base")
        key = (number, type(base))
        if key not in self._classes:
            self._classes[key] = subclasses.make_class(type(base), name, redefined)
        return self._classes[key]

    def decode(self, form: Any) -> Any:
        """What stands here for a form that came outside of a reply."""
        return _ProxyDecoder([], self).decode(form)

    def encode(self, value: Any) -> str:
        """A text that changes when the value does."""
        try:
            return values.dumps(_ProxyEncoder([], self).encode(value))
        except (values.Unsendable, RecursionError):
            return ""

    def _receive(self) -> list[Any]:
        try:
            message = values.unpack(
                wire.receive(self._channel, report_silence=self._report_silence)
            )
        except (wire.BadFrame, ValueError, RecursionError, MemoryError) as error:
            self._report_death(error)
        if type(message) is not list or not message:
            self._report_death(ValueError("an empty message"))
        return message

    def _report_silence(self) -> None:
        """Say that the candidate was silent for half of the time limit, in all."""
        self._silences += self._has_run
        if self._silences == wire.SILENCES:
            self._say("silent")

    def _read_reply(self, verb: str, reply: list[Any], known: list[Any], passed: list[Any]) -> Any:
        decoder = _ProxyDecoder(known, self)
        if reply == ["stop"] and verb == "next":
            raise StopIteration
        match reply:
            case ["ok", form, list(changes)]:
                value = decoder.decode(form)
                decoder.apply_changes(passed, changes)
                self._received += known
                return value
            case ["raise", [("x" | "X"), *_] as form, list(changes)]:
                error = decoder.decode(form)
                decoder.apply_changes(passed, changes)
                if form[0] == "X":
                    self.callbacks.take_error_back(error)
                    raise error
                raise self._convert_error(verb, error)
            case ["unsendable", str(why)]:
                why = f"the program's answer cannot be passed: {judging.shorten(why)}"
                if verb not in _GIVES_VALUE or self.callbacks.functions:
                    raise self.distrust(why)  # perhaps an argument of a callback
                self.unsent = self.unsent or why
                return proxies.Unsent(self, why)
        raise values.BadValue("no reply")

    def _convert_error(self, verb: str, error: BaseException) -> BaseException:
        """Make an error that Python would take for an end, and not for a mistake, a mistake."""
        ends: tuple[type[BaseException], ...] = (StopIteration, GeneratorExit)
        if verb != "await":
            ends = (*ends, StopAsyncIteration)
        frame: Any = sys._getframe()  # noqa: SLF001 - the only way to the callers
        while frame is not None:
            if frame.f_code.co_filename.startswith("<target"):
                ends = (*ends, _SWALLOWED_IN.get(frame.f_code.co_name, StopIteration))
            frame = frame.f_back
        is_end = isinstance(error, ends) or (
            any(base.__name__ == "CancelledError" for base in type(error).__mro__)
            and not callbacks.mentions(self._code, "CancelledError")
        )
        return CandidateStopped(f"the program raised {type(error).__name__}") if is_end else error

    def _run_callback(self, message: list[Any]) -> bytes:
        """Call a function of the target for the candidate: only one that it received."""
        known: list[Any] = []
        decoder = _ProxyDecoder(known, self)
        match message:
            case [_, number, args_form, kwargs_form]:
                function = self.callbacks.find_function(number)
                args, kwargs = decoder.decode(args_form), decoder.decode(kwargs_form)
            case _:
                raise values.BadValue("a call without arguments")
        if type(args) is not tuple or type(kwargs) is not dict or set(map(type, kwargs)) - {str}:
            raise values.BadValue("a call without arguments")
        passed = list(known)
        encoder = _ProxyEncoder(known, self)
        before = values.take_snapshot(passed, encoder)
        requests = self._requests
        try:
            result = function(*args, **kwargs)
            self.callbacks.finish(number)
            try:
                form = ["ok", encoder.encode(result)]
            finally:
                if proxies.candidate_form(result) is None and hasattr(result, "cr_await"):
                    result.close()  # a coroutine that nobody will wait for
            return values.pack([*form, encoder.encode_changes(passed, before)])
        except StopIteration:
            self.callbacks.finish(number)
            return values.pack(["stop"])
        except values.Unsendable as error:
            form = ["X", None, "TypeError", str(self.distrust(f"{error} cannot be passed"))]
        except BaseException as error:  # noqa: BLE001 - it goes on where the call came from
            if isinstance(error, AssertionError):
                self.callbacks.finish(number)
            form = proxies.candidate_form(error) or exceptions.encode_exception(
                error,
                encoder,
                self.callbacks.send_error(error, has_asked=self._requests > requests),
            )
        return values.pack(["raise", form, []])

    def _report_death(self, error: Exception) -> NoReturn:
        """End the check: the candidate's process has ended, or does not speak the protocol."""
        if isinstance(error, MemoryError):
            self._end("a reply of the candidate's process needs too much memory", "check")
        if isinstance(error, wire.Closed):
            code = os.waitstatus_to_exitcode(os.waitpid(self._candidate, 0)[1])
            detail = f"the candidate's process {judging.describe_exit(code)}"
        else:
            detail = f"the candidate's process sent an invalid reply: {judging.describe(error)}"
        self._end(detail, "program")

    def _end(self, detail: str, cause: str) -> NoReturn:
        """End the check; `cause` says whether an honest program could have caused it."""
        self._say("died", detail=detail, cause=cause)
        os._exit(0)


def _mask_handles(reply: list[Any]) -> str:
    """A text that is the same for two replies with different objects and the same values."""
    text = values.dumps(reply)
    if '["h",' in text or '["k",' in text or '["x",' in text or '["v",' in text:
        text = _HANDLE_NUMBER.sub(r'["\1",0', text)
    return text


class _ProxyEncoder(values.Encoder):
    _side: Link

    def _encode_rare(self, value: Any, kind: type) -> Any:
        return proxies.candidate_form(value) or super()._encode_rare(value, kind)

    def _encode_other(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return exceptions.encode_exception(value, self, None)
        if type(value) is ModuleType:
            return ["m", value.__name__]
        name = getattr(value, "__name__", "")
        if type(name) is str and getattr(builtins, name, None) is value:
            return ["Q", name]  # the candidate has its own
        if type(value) in _DESCRIPTORS and value.__objclass__ in callbacks.PLAIN_TYPES:
            return ["Q", value.__objclass__.__name__, name]
        if callbacks.can_be_passed(value):
            return ["f", self._side.callbacks.add(value), name if type(name) is str else ""]
        if hasattr(type(value), "__next__") and not hasattr(value, "read"):
            return ["n", self._side.callbacks.add(value.__next__, value)]
        return super()._encode_other(value)


class _ProxyDecoder(values.Decoder):
    _side: Link

    def _decode_object(self, form: list[Any]) -> Any:
        number, name, alike, description = form
        _check_number(number, name)
        if number not in self._side.stand_ins:
            kind = self._side.find_class(description, name)
            proxy = kind(self._side, ["h", number], name[: proxies.MAX_NAME], alike=alike is True)
            self._side.stand_ins[number] = proxy
        return self._side.stand_ins[number]

    def _decode_value(self, form: list[Any]) -> Any:
        """A builtin with a class of the candidate's behind it."""
        number, name, base_form, class_number, redefined = form
        _check_number(number, name)
        base = self.decode(base_form)
        if number not in self._side.stand_ins:
            kind = self._side.find_subclass(class_number, base, name, redefined)
            value = subclasses.make_value(self._side, number, base, kind)
            self._side.stand_ins[number] = value
        return self._side.stand_ins[number]

    def _decode_exception_class(self, form: list[Any]) -> Any:
        return self._side.exceptions.find_class(form)

    def _decode_exception(self, form: list[Any]) -> Any:
        number, kind, arguments, text, cause, notes = form
        if type(number) is not int or type(kind) is not list or type(text) is not str:
            raise values.BadValue("no exception")
        if number not in self._side.stand_ins:
            args = self.decode_all(arguments) if type(arguments) is list else [text]
            error = self._side.exceptions.make(number, kind[1:], args, text)
            self._side.stand_ins[number] = error
            if cause is not None:
                error.__cause__ = self.decode(cause)
            for note in notes:
                error.add_note(note)
        return self._side.stand_ins[number]

    def _decode_coroutine(self, form: list[Any]) -> Any:
        """A coroutine of ours that has the candidate's run to its end."""
        number, name = form
        _check_number(number, name)
        link, proxy = self._side, proxies.FUNCTION(self._side, ["h", number], name, alike=True)

        async def run() -> Any:
            return link.ask("await", proxy)

        return run()

    def _decode_own_function(self, form: list[Any]) -> Any:
        (number,) = form
        return self._side.callbacks.find_function(number)

    def _decode_own_error(self, form: list[Any]) -> Any:
        (number,) = form
        return self._side.callbacks.find_error(number)

    decoders: ClassVar[values.Decoders] = {
        **values.Decoder.decoders,
        "h": _decode_object,
        "v": _decode_value,
        "e": _decode_exception_class,
        "x": _decode_exception,
        "k": _decode_coroutine,
        "f": _decode_own_function,
        "X": _decode_own_error,
    }


def _check_number(number: Any, name: Any) -> None:
    if type(number) is not int or type(name) is not str:
        raise values.BadValue("an object without a number")
