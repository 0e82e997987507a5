"""Judge one candidate: the script that `unsafe` runs in a bare interpreter.

It says on its report, one JSON object a line:

    {"type": "ready"}                                          from here on the time counts
    {"type": "candidate", "outcome": "ran", "detail": ""}      or syntax_error, error
    {"type": "target", "outcome": "passed", "detail": ""}      or failed, uncompilable; in order
    {"type": "done", "nonce": "..."}                           nothing comes after it

The candidate is a module called `candidate`, and its `__name__` says so: what stands under
`if __name__ == "__main__"` is its author's demonstration, not its definition, and is not run.
The module is in `sys.modules`, where dataclasses, pickle and typing look for it.

Imports nothing of ours, and as little as it can of the rest: `json` alone would double the time
that the interpreter takes to start.
"""

from __future__ import annotations

import sys
import warnings
from os import _exit, getpid, write

TYPE_CHECKING = False  # as `typing` has it, whose import would cost as much as `json`
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import TextIO

_MAX_DETAIL = 300
_ESCAPES = {number: f"\\u{number:04x}" for number in (*range(32), ord('"'), ord("\\"))}
# For the day when a candidate has eaten all memory, and its verdict must still be said. Memory that
# is never touched costs nothing.
_RESERVE = [bytes(8 * 1024**2)]
_PLAIN = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None))


def main(report: int, arguments: list[bytes]) -> None:
    """Judge `nonce, source, *targets`. Never returns, and runs no hook on its way out."""
    status = 1
    try:
        _judge(_speaker(report), [text.decode("utf-8", "surrogatepass") for text in arguments])
        status = 0
    except BaseException as error:  # noqa: BLE001 - a handler the candidate left can raise anything
        write(2, f"the evaluator: {_describe(error)}\n".encode())
    finally:
        _exit(status)


def _speaker(report: int) -> Callable[..., None]:
    myself = getpid()

    def say(kind: str, **fields: str) -> None:
        if getpid() != myself:
            _exit(0)  # a copy that the candidate forked has no say
        pairs = {"type": kind, **fields}
        line = ", ".join(f'"{key}": "{text.translate(_ESCAPES)}"' for key, text in pairs.items())
        write(report, f"{{{line}}}\n".encode())

    return say


def _judge(say: Callable[..., None], texts: list[str]) -> None:
    nonce, source, *targets = texts
    streams = (sys.stdout, sys.stderr)
    sys.argv = ["candidate"]
    # What the compiler thinks of a candidate's style is not the candidate's output.
    warnings.simplefilter("ignore", SyntaxWarning)
    # Before the candidate runs: one that ate all memory must not make a target look broken.
    compiled = [_Target(text, f"<target {number}>") for number, text in enumerate(targets, start=1)]
    module = type(sys)("candidate")
    sys.modules["candidate"] = module

    say("ready")
    outcome, detail = _run(source, module.__dict__)
    say("candidate", outcome=outcome, detail=detail)
    for target in compiled if outcome == "ran" else ():
        verdict, detail = target.judge(module.__dict__)
        say("target", outcome=verdict, detail=detail)
    for stream in streams:
        _flush(stream)
    say("done", nonce=nonce)


class _Target:
    """An expression that must be true, or else statements that must not raise."""

    def __init__(self, text: str, name: str) -> None:
        self._code: CodeType | None = None
        self._is_expression = True
        self._detail = ""
        try:
            # As `eval` reads it: blanks before an expression are no indent.
            self._code = compile(text.lstrip(" \t"), name, "eval", dont_inherit=True)
        except Exception:  # noqa: BLE001 - whatever the compiler raises, it is no expression
            self._is_expression = False
            self._compile_statements(text, name)

    def _compile_statements(self, text: str, name: str) -> None:
        try:
            self._code = compile(text, name, "exec", dont_inherit=True)
        except Exception as error:  # noqa: BLE001 - whatever the compiler raises, it does not compile
            self._detail = _describe(error)

    def judge(self, namespace: dict[str, object]) -> tuple[str, str]:
        """Outcome and detail."""
        if self._code is None:
            return "uncompilable", self._detail
        try:
            value = eval(self._code, namespace)  # noqa: S307 - what this script is for
            if value or not self._is_expression:
                return "passed", ""
            return "failed", _describe_value(value)
        except BaseException as error:  # noqa: BLE001 - whatever it raises, it has failed
            return "failed", _describe(error)


def _run(source: str, namespace: dict[str, object]) -> tuple[str, str]:
    try:
        code = compile(source, "<candidate>", "exec", dont_inherit=True)
    except Exception as error:  # noqa: BLE001 - ValueError, MemoryError, RecursionError: all the same
        return "syntax_error", _describe(error)
    try:
        exec(code, namespace)  # noqa: S102 - what this script is for
    except BaseException as error:  # noqa: BLE001 - a candidate may raise anything, exits included
        return "error", _describe(error)
    return "ran", ""


def _describe(error: BaseException) -> str:
    """Its name and message on one line; of one that cannot be printed, the name."""
    if isinstance(error, MemoryError):
        _RESERVE.clear()
    text = "an exception without a name"
    try:
        text = type(error).__name__
        message = " ".join(str(error)[:_MAX_DETAIL].split())
        text = f"{text}: {message}" if message else text
    except BaseException as unprintable:  # noqa: BLE001 - the candidate wrote its __str__
        del unprintable
    return text[:_MAX_DETAIL].encode("utf-8", "replace").decode()


def _describe_value(value: object) -> str:
    # The repr of a false builtin is short, and the candidate did not write it.
    if any(type(value) is plain for plain in _PLAIN):
        return f"evaluated to {value!r}"
    return f"evaluated to a false `{type(value).__name__}`"


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except BaseException as closed:  # noqa: BLE001 - the candidate may have closed or changed it
        del closed
