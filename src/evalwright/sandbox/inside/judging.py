"""Run a candidate, judge one target, describe errors and report: what every evaluator does.

`judge_in_process` is an evaluator itself. It runs the candidate and its targets in one process:
fast, and open to forgery. `unsafe` runs this file as a script in a bare interpreter; it imports
little, because `json` alone would double that interpreter's start-up time.
"""

from __future__ import annotations

import sys
import warnings
from os import _exit, getpid, write

TYPE_CHECKING = False  # as `typing` has it, whose import would make every fork dearer
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import NoReturn, TextIO

    Say = Callable[..., None]

MAX_DETAIL = 300
_AT_ONCE = frozenset({"ready", "candidate", "silent", "died", "done", "left"})
_ESCAPES = {number: f"\\u{number:04x}" for number in (*range(32), ord('"'), ord("\\"))}
# Released when a candidate has used up all memory, so that its verdict can still be reported.
# Memory that is never touched costs nothing.
_RESERVE = [bytes(8 * 1024**2)]
_PLAIN = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None))


def speaker(report: int) -> Say:
    """A function that reports records, each a JSON object on its own line.

    Records are written when the clock must start, when the candidate has run, and at the end: a
    report without its end is not believed, so nobody waits for the middle.
    """
    myself = getpid()
    held: list[str] = []

    def say(kind: str, **fields: str) -> None:
        pairs = {"type": kind, **fields}
        line = ", ".join(f'"{key}": "{text.translate(_ESCAPES)}"' for key, text in pairs.items())
        held.append(f"{{{line}}}\n")
        if kind not in _AT_ONCE or getpid() != myself:
            return  # a copy that the candidate forked reports nothing
        unsent = memoryview("".join(held).encode())
        held.clear()
        while unsent:
            unsent = unsent[write(report, unsent) :]

    return say


class Target:
    """An expression that must be true, or else statements that must not raise."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.code: CodeType | None = None
        self.error: BaseException | None = None
        """What it raised when it was judged last."""
        self.is_expression = True
        self._detail = ""
        try:
            # As `eval` reads it: blanks before an expression are no indent.
            self.code = compile(text.lstrip(" \t"), name, "eval", dont_inherit=True)
        except Exception:  # noqa: BLE001 - whatever the compiler raises, it is no expression
            self.is_expression = False
            self._compile_statements(text, name)

    def _compile_statements(self, text: str, name: str) -> None:
        try:
            self.code = compile(text, name, "exec", dont_inherit=True)
        except Exception as error:  # noqa: BLE001 - whatever the compiler raises, it does not compile
            self._detail = describe(error)

    def judge(self, namespace: dict[str, object]) -> tuple[str, str]:
        """Outcome and detail."""
        self.error = None
        if self.code is None:
            return "uncompilable", self._detail
        try:
            value = eval(self.code, namespace)  # noqa: S307 - what this is for
            if value or not self.is_expression:
                return "passed", ""
            return "failed", _describe_value(value)
        except BaseException as error:  # noqa: BLE001 - whatever it raises, it has failed
            self.error = error
            return "failed", describe(error)


def compile_targets(targets: list[str]) -> list[Target]:
    """Compile before the candidate runs: without memory every target would look broken."""
    return [Target(text, f"<target {number}>") for number, text in enumerate(targets, start=1)]


def ignore_syntax_warnings() -> None:
    """Before anything is compiled: Python would print where the file has the problem."""
    warnings.simplefilter("ignore", SyntaxWarning)


def new_module() -> ModuleType:
    """The candidate's module, in `sys.modules`, where dataclasses, pickle and typing look.

    Its `__name__` is `candidate`: what stands under `if __name__ == "__main__"` is not run.
    """
    sys.argv = ["candidate"]
    module = type(sys)("candidate")
    sys.modules["candidate"] = module
    return module


def run(source: str, namespace: dict[str, object]) -> tuple[str, str]:
    """Run a candidate's top level: outcome and detail."""
    try:
        code = compile(source, "<candidate>", "exec", dont_inherit=True)
    except Exception as error:  # noqa: BLE001 - ValueError, MemoryError, RecursionError: all the same
        return "syntax_error", describe(error)
    try:
        exec(code, namespace)  # noqa: S102 - what this is for
    except BaseException as error:  # noqa: BLE001 - a candidate may raise anything, exits included
        return "error", describe(error)
    return "ran", ""


def release_reserve(error: BaseException) -> None:
    """Release the reserve if memory ran out."""
    if isinstance(error, MemoryError):
        _RESERVE.clear()


def describe(error: BaseException) -> str:
    """Name and message on one line; only the name if the message cannot be printed."""
    release_reserve(error)
    text = "an exception without a name"
    try:
        text = type.__dict__["__name__"].__get__(type(error))  # past its metaclass
        message = " ".join(str(error)[:MAX_DETAIL].split())
        text = f"{text}: {message}" if message else text
    except BaseException as unprintable:  # noqa: BLE001 - the candidate wrote its __str__
        del unprintable
    return shorten(text)


def shorten(text: str) -> str:
    """Cut to what can be sent."""
    return text[:MAX_DETAIL].encode("utf-8", "replace").decode()


def _describe_value(value: object) -> str:
    # The repr of a false builtin is short, and the candidate did not write it.
    if any(type(value) is plain for plain in _PLAIN):
        return f"evaluated to {value!r}"
    return shorten(f"evaluated to a false `{type(value).__name__}`")


def describe_exit(code: int) -> str:
    """How a process ended, by its exit code: below 0 is a signal."""
    if code >= 0:
        return f"exited with status {code}"
    import signal  # large, and seldom needed

    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def flush(stream: TextIO) -> None:
    """Flush a stream, whatever the candidate has done to it."""
    try:
        stream.flush()
    except BaseException as closed:  # noqa: BLE001 - the candidate may have closed or changed it
        del closed


def main(report: int, arguments: list[bytes]) -> NoReturn:
    """Judge `nonce, source, *targets`, as the script of `unsafe`."""
    ignore_syntax_warnings()
    nonce, source, *targets = [text.decode("utf-8", "surrogatepass") for text in arguments]
    judge_in_process(report, nonce, source, targets)


def judge_in_process(report: int, nonce: str, source: str, targets: list[str]) -> NoReturn:
    """Run the candidate and its targets here. Never returns, and runs no exit hook."""
    status = 1
    try:
        report_verdicts(report, nonce, source, targets)
        status = 0
    except BaseException as error:  # noqa: BLE001 - a handler the candidate left can raise anything
        write(2, f"the evaluator: {describe(error)}\n".encode())
    finally:
        _exit(status)


def report_verdicts(report: int, nonce: str, source: str, targets: list[str]) -> None:
    """Run the candidate, judge its targets, and write the records."""
    say = speaker(report)
    streams = (sys.stdout, sys.stderr)
    compiled = compile_targets(targets)
    module = new_module()
    say("ready")
    outcome, detail = run(source, module.__dict__)
    say("candidate", outcome=outcome, detail=detail)
    for target in compiled if outcome == "ran" else ():
        verdict, detail = target.judge(module.__dict__)
        say("target", outcome=verdict, detail=detail)
    for stream in streams:
        flush(stream)
    say("done", nonce=nonce)
