"""One call on its way: who waits for it, and where it stands in the author's file."""

import ast
import asyncio
import json
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from evalwright.errors import SnippetFailed
from evalwright.snippets.asking import Asking
from evalwright.snippets.sources import Source

_LOOKED_INTO = frozenset({dict, float, list})


class Group(NamedTuple):
    """What the calls that travel together have in common."""

    key: str
    name: str
    objects: tuple[str, ...]
    timeout_s: float
    talks: bool
    """Whether they wait for something: of async functions, or with questions for the model."""


Answer = tuple[int, int, Any, tuple[str, str] | None]
"""The numbers of a call and of its question, what the model gave, or kind and message."""


class Call:
    """One call, and the future that its caller awaits."""

    __slots__ = ("alone", "arguments", "asking", "future", "group", "number", "returned")

    def __init__(
        self, number: int, group: Group, arguments: Sequence[Any], asking: Asking | None
    ) -> None:
        self.number, self.group, self.arguments, self.asking = number, group, arguments, asking
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.alone = False
        """Whether a process gets nothing else: one of its batch ended one, who knows which."""
        self.returned = False
        """Whether a process ended that it was given to."""

    def succeed(self, value: Any) -> None:
        """Give its caller the value."""
        if not self.future.done():
            self.future.set_result(value)
        self._end()

    def fail(self, error: BaseException) -> None:
        """Have its caller get the error."""
        if not self.future.done():
            self.future.set_exception(error)
        self._end()

    def _end(self) -> None:
        if self.asking is not None:
            self.asking.cancel()


def order(group: Group, source: int, calls: Sequence[Call]) -> tuple[bytes, list[Call]]:
    """The line that asks for calls, and those of them that can be asked for: the others fail."""
    head = {
        "key": group.key,
        "name": group.name,
        "objects": group.objects,
        "timeout_s": group.timeout_s,
        "source": source,
    }
    numbers = [call.number for call in calls]
    try:
        arguments = [call.arguments for call in calls]
        line = msgspec.json.encode({**head, "numbers": numbers, "calls": arguments})
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _carefully(head, calls)
    if b"null" in line and any(not_in_json(call.arguments, group.objects) for call in calls):
        return _carefully(head, calls)
    return line + b"\n", list(calls)


def not_in_json(arguments: Sequence[Any], objects: Sequence[str]) -> bool:
    """Whether there is NaN or an infinity in what is given as it is: a row, rows, tables of rows.

    They would become null, and a cell that is not there was asked to be NaN. Only `careful` writes
    them; it is slow.
    """
    known = len(objects)
    for place, one in enumerate(arguments):  # asked of every batch with a null: no generator
        if (place >= known or not objects[place]) and _endless(one):
            return True
    return False


def _endless(value: Any) -> bool:
    if type(value) is dict:
        for one in value.values():  # noqa: SIM110 - half the time
            if type(one) in _LOOKED_INTO and _endless(one):
                return True
        return False
    if type(value) is list:
        return bool(value) and type(value[0]) is dict and any(map(_endless, value))
    return type(value) is float and not isfinite(value)


def careful(arguments: Sequence[Any]) -> bytes:
    """JSON, and what Python's reader takes beside it: NaN, the infinities, half a surrogate."""
    return json.dumps(list(arguments), default=msgspec.to_builtins).encode()


def _carefully(head: dict[str, Any], calls: Sequence[Call]) -> tuple[bytes, list[Call]]:
    """One by one, with the slower encoder: it takes numbers of any size and half a surrogate."""
    good: dict[int, Raw] = {}
    for call in calls:
        try:
            good[call.number] = Raw(careful(call.arguments))
        except (TypeError, ValueError, RecursionError) as error:
            call.fail(TypeError(f"an argument of `{call.group.name}` is no JSON: {error}"))
    line = msgspec.json.encode({**head, "numbers": list(good), "calls": list(good.values())})
    return line + b"\n", [call for call in calls if call.number in good]


def answered(answers: Sequence[Answer]) -> bytes:
    """The line that gives answers; one that is no JSON is a refusal."""
    try:
        return msgspec.json.encode({"answers": answers}) + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError):
        good = b",".join(map(_answered_carefully, answers))
        return b'{"answers":[%b]}\n' % good


def _answered_carefully(answer: Answer) -> bytes:
    number, ask, *_ = answer
    try:
        return json.dumps(answer).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps(
            [number, ask, None, ["TypeError", f"an answer is no JSON: {error}"]]
        ).encode()


def failure(source: Source, group: Group, kind: str, told: str, hint: str = "") -> SnippetFailed:
    """What a process could not tell itself, with the place of the function."""
    line, _ = definition(source, group.name)
    return SnippetFailed(kind, f"{source.path}:{line} in {group.name}: {told}", hint=hint)


@lru_cache(maxsize=256)
def definition(source: Source, name: str) -> tuple[int, bool]:
    """The line of a function, and whether it is an `async def`; the first line where none is."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return source.line, False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            line = source.line - 1 + node.lineno
            return line, isinstance(node, ast.AsyncFunctionDef)
    return source.line, False
