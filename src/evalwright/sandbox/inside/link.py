"""The evaluator's end of the conversation with the candidate; `candidate` documents the messages.

Nothing from the other side is trusted. It is decoded by exact types, and what does not fit ends the
process with a `died` record.
"""

from __future__ import annotations

import builtins
import os
import sys
from _thread import RLock
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from functools import partial
from opcode import opmap
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, ClassVar, NoReturn

from . import exceptions, judging, proxies, subclasses, values, wire

# Questions that change nothing: the same one has the same answer until something is called.
_READS = frozenset({
    "attr", "bool", "complex", "float", "format", "getitem", "index", "int", "isinstance",
    "issubclass", "len", "repr", "str",
})  # fmt: skip
_DESCRIPTORS = (type(str.upper), type(int.__add__))
_ASSERTS: int = opmap.get("LOAD_ASSERTION_ERROR") or opmap["LOAD_COMMON_CONSTANT"]
_OPERATORS = frozenset({"binary", "capture", "captured", "compare", "get", "iter"})
# The reference counts of what only a list holds, in a loop over it.
_UNHELD = 3
_PLAIN = frozenset({
    *(str, bytes, list, dict, set, frozenset, tuple, bytearray, int, float, complex),
    *(Counter, OrderedDict, defaultdict, deque),
})  # fmt: skip


class Untrusted(TypeError):
    """A verdict would rest on the candidate's own code, or cannot be had from here."""


class CandidateStopped(RuntimeError):
    """The candidate raised StopIteration where a loop of the target's would end by it."""


class Link:
    """Asks the candidate, and runs its callbacks."""

    def __init__(self, channel: int, candidate: int, say: judging.Say) -> None:
        self._channel, self._candidate, self._say = channel, candidate, say
        self._turn = RLock()  # a target may have threads
        self._stdout = sys.stdout
        self._has_run = False
        self.untrusted = ""
        """What the present target has done that no verdict can rest on."""
        self.refused = ""
        """What the candidate would have decided in the place of the present target."""
        self.note = ""
        """A comparison of the present target that the candidate had no part in."""
        self.held_assertion = False
        """Whether an assertion of the target's was raised in a callback, and did not come back."""
        self.uncalled: set[int] = set()
        """Callbacks with an assertion in them that the candidate has not called."""
        self.keeps = False
        """Whether a target has kept a container of the candidate's across a call."""
        self.calls = 0
        """How many requests may have changed something over there."""
        self._reads: dict[str, str] = {}
        self._received: list[Any] = []
        self.callbacks: list[Callable[..., Any]] = []
        self._callback_numbers: dict[int, int] = {}
        self._classes: dict[Any, type] = {}
        self.stand_ins: dict[int, Any] = {}
        """Return the proxy of an object of the candidate, by its number: always the same."""
        self.before_request: Callable[[], None] = lambda: None
        self.exceptions = exceptions.Exceptions(self)
        self.hide_words = exceptions.make_wordless

    def run(self, source: str) -> tuple[str, str, list[Any]]:
        """Have the candidate run its source: outcome, detail, names."""
        try:
            wire.send(self._channel, source.encode("utf-8", "surrogatepass"))
            message = self._receive()
        except wire.Closed as error:
            self._report_death(error)
        match message:
            case [("ran" | "syntax_error" | "error") as outcome, str(detail), list(names)]:
                self._has_run = True
                return outcome, judging.shorten(detail), names
            case ["unsendable", str(why)]:
                self._end(f"the program's names cannot be passed: {judging.shorten(why)}", "check")
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
        if verb not in _READS:
            self._note_call(keeps=verb not in _OPERATORS)
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
            if verb in _READS:
                self._check_read(body, reply)
            return self._read_reply(verb, reply, known, passed)
        except values.Unreceivable as error:
            raise self.distrust(f"a value of the program cannot be made here: {error}") from None
        except (wire.Closed, values.BadValue) as error:
            self._report_death(error)

    def distrust(self, why: str) -> Untrusted:
        """Mark the present target as without verdict, whatever it does with the exception."""
        self.untrusted = self.untrusted or judging.shorten(why)
        return Untrusted(why)

    def refuse(self, why: str) -> Untrusted:
        """Mark the present target as one that the candidate itself would have decided."""
        self.refused = self.refused or judging.shorten(why)
        return Untrusted(why)

    def begin_target(self) -> None:
        """Forget what concerns the target before."""
        self.untrusted = self.refused = self.note = ""
        self.held_assertion = False
        self.uncalled.clear()
        self._reads.clear()

    def _note_call(self, *, keeps: bool) -> None:
        self.calls += 1
        self._reads.clear()
        if not keeps:
            return
        # A container that only this list holds is of no interest to the target.
        self._received = [each for each in self._received if sys.getrefcount(each) > _UNHELD]
        self.keeps = self.keeps or bool(self._received)

    def _check_read(self, request: bytes, reply: list[Any]) -> None:
        """Notice a candidate that answers the same question in two ways."""
        key, answer = request.decode("utf-8", "surrogatepass"), values.dumps(reply)
        if '["h",' in answer or '["k",' in answer or '["x",' in answer or '["v",' in answer:
            return
        if self._reads.setdefault(key, answer) != answer:
            self.distrust("what the target has read changed between two reads")

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
        """Say that one answer takes half of the time that there is for all."""
        if self._has_run:
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
            case ["raise", ["x", *_] as form, list(changes)]:
                error = decoder.decode(form)
                decoder.apply_changes(passed, changes)
                if isinstance(error, AssertionError):
                    self.held_assertion = False
                if isinstance(error, StopIteration) or (
                    isinstance(error, StopAsyncIteration) and verb != "await"
                ):
                    # A loop of ours would take this for its end, and not for a mistake.
                    error = CandidateStopped(f"the candidate raised {type(error).__name__}")
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
        self.uncalled.discard(number)
        passed = list(known)
        encoder = _ProxyEncoder(known, self)
        before = values.take_snapshot(passed, encoder)
        try:
            result = self.callbacks[number](*args, **kwargs)
            try:
                form = ["ok", encoder.encode(result)]
            finally:
                if proxies.candidate_form(result) is None and hasattr(result, "cr_await"):
                    result.close()  # a coroutine that nobody will wait for
            return values.pack([*form, encoder.encode_changes(passed, before)])
        except StopIteration:
            return values.pack(["stop"])
        except values.Unsendable as error:
            form = ["X", "TypeError", str(self.distrust(f"{error} cannot be passed"))]
        except BaseException as error:  # noqa: BLE001 - it goes on where the call came from
            self.held_assertion = self.held_assertion or type(error) is AssertionError
            form = proxies.candidate_form(error) or exceptions.encode_exception(error, encoder)
        return values.pack(["raise", form, []])

    def add_callback(self, function: Callable[..., Any]) -> int:
        """Let the candidate call a function, by its number."""
        number = self._callback_numbers.get(id(function))
        if number is None:
            number = self._callback_numbers[id(function)] = len(self.callbacks)
            self.callbacks.append(function)
            if type(function) is FunctionType and _ASSERTS in function.__code__.co_code[::2]:
                self.uncalled.add(number)
        return number

    def _report_death(self, error: Exception) -> NoReturn:
        """The candidate's process has ended, or might as well have."""
        if isinstance(error, MemoryError):
            self._end("a reply of the candidate's process needs too much memory", "check")
        if isinstance(error, wire.Closed):
            code = os.waitstatus_to_exitcode(os.waitpid(self._candidate, 0)[1])
            detail = f"the candidate's process {judging.describe_exit(code)}"
        else:
            detail = f"the candidate's process sent an invalid reply: {judging.describe(error)}"
        self._end(detail, "program")

    def _end(self, detail: str, cause: str) -> NoReturn:
        """End the check; `cause` says whether an honest program could have had a part in it."""
        self._say("died", detail=detail, cause=cause)
        os._exit(0)


class _ProxyEncoder(values.Encoder):
    _side: Link

    def _encode_rare(self, value: Any, kind: type) -> Any:
        return proxies.candidate_form(value) or super()._encode_rare(value, kind)

    def _encode_other(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return exceptions.encode_exception(value, self)
        if type(value) is ModuleType:
            return ["m", value.__name__]
        name = getattr(value, "__name__", "")
        if type(name) is str and getattr(builtins, name, None) is value:
            return ["Q", name]  # the candidate has its own
        if type(value) in _DESCRIPTORS and value.__objclass__ in _PLAIN:
            return ["Q", value.__objclass__.__name__, name]
        if _is_targets_own(value):
            return ["f", self._side.add_callback(value), name if type(name) is str else ""]
        if hasattr(type(value), "__next__") and not hasattr(value, "read"):
            return ["n", self._side.add_callback(value.__next__)]
        return super()._encode_other(value)


def _is_targets_own(value: Any) -> bool:
    """Whether the candidate may call it: a function of the target's, or a method of a plain value.

    Anything else that can be called could give away this process.
    """
    kind = type(value)
    if kind is FunctionType:
        return bool(value.__code__.co_filename.startswith("<target"))
    if kind is MethodType:
        return _is_targets_own(value.__func__)
    if kind is partial:
        return values.encode_function(value.func) is not None or _is_targets_own(value.func)
    if kind is BuiltinMethodType:
        return type(value.__self__) in _PLAIN
    if issubclass(kind, type):
        return bool(value.__module__ == "candidate")
    if hasattr(value, "__wrapped__") and kind.__module__ == "functools":
        return _is_targets_own(value.__wrapped__)
    return kind.__module__ == "candidate" and callable(value)


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


def _check_number(number: Any, name: Any) -> None:
    if type(number) is not int or type(name) is not str:
        raise values.BadValue("an object without a number")
