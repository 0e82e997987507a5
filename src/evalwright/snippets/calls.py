"""Calls of snippets: their futures, their model queries, and their encoding."""

import ast
import asyncio
import json
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from evalwright.errors import ModelError, Stopped
from evalwright.ports import Predict
from evalwright.snippets.inside.functions import KINDS
from evalwright.snippets.sources import Source

_LOOKED_INTO = frozenset({dict, float, list})


class Group(NamedTuple):
    """The properties that all calls of a batch share."""

    key: str
    name: str
    objects: tuple[str, ...]
    timeout_s: float
    concurrent: bool
    """Whether the calls may wait: the function is async or queries the model."""


OnAnswer = Callable[[int, Any, tuple[str, str] | None], None]
"""Receives the number of a query, and its answer or the kind and message of the failure."""

Answer = tuple[int, int, Any, tuple[str, str] | None]
"""The numbers of a call and its query, and the arguments of `OnAnswer`."""


class Questions:
    """The model queries of one call. For failures, the engine's exception is kept."""

    def __init__(self, predict: Predict) -> None:
        self._predict = predict
        self._tasks: set[asyncio.Task[dict[str, Any]]] = set()
        self._failures: dict[int, BaseException] = {}
        self.stopped: Stopped | None = None
        """The exception that ends the run; not passed to the author's code."""
        self.asked = False

    @property
    def waits(self) -> bool:
        """Whether a query is still unanswered."""
        return bool(self._tasks)

    def begin(self, ask: int, question: tuple[Any, dict[str, Any]], on_answer: OnAnswer) -> None:
        """Query the model, in the running loop."""
        self.asked = True

        async def predict() -> dict[str, Any]:
            return await self._predict(*question)

        def end(task: asyncio.Task[dict[str, Any]]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                on_answer(ask, None, ("cancelled", "the call was cancelled"))
                return
            failure = task.exception()
            if failure is None:
                on_answer(ask, task.result(), None)
                return
            self._failures[ask] = failure
            if isinstance(failure, Stopped):
                self.stopped = failure
            kind = failure.kind if isinstance(failure, ModelError) else type(failure).__name__
            on_answer(ask, None, (kind, str(failure)))

        task = asyncio.create_task(predict())
        self._tasks.add(task)
        task.add_done_callback(end)

    def failure(self, ask: int | None) -> BaseException | None:
        """Return the failure of a query."""
        return None if ask is None else self._failures.get(ask)

    def cancel(self) -> None:
        """Cancel all pending queries."""
        for task in list(self._tasks):
            task.cancel()


class SnippetCall:
    """One call, and the future that its caller awaits."""

    __slots__ = ("alone", "arguments", "future", "group", "number", "questions", "returned")

    def __init__(
        self, number: int, group: Group, arguments: Sequence[Any], questions: Questions | None
    ) -> None:
        self.number, self.group = number, group
        self.arguments, self.questions = arguments, questions
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.alone = False
        """Whether the call is sent alone, because a call in its batch ended a process."""
        self.returned = False
        """Whether a process ended while it was running this call."""

    def finish(self, value: Any) -> None:
        """Return the value to the caller."""
        if not self.future.done():
            self.future.set_result(value)
        self._end()

    def fail(self, error: BaseException) -> None:
        """Raise the error in the caller."""
        if not self.future.done():
            self.future.set_exception(error)
        self._end()

    def _end(self) -> None:
        if self.questions is not None:
            self.questions.cancel()


def encode_calls(
    group: Group, source: int, calls: Sequence[SnippetCall]
) -> tuple[bytes, list[SnippetCall]]:
    """Return a request line and its calls. Calls whose arguments are not JSON fail."""
    head = {**group._asdict(), "source": source}
    numbers = [call.number for call in calls]
    try:
        arguments = [call.arguments for call in calls]
        line = msgspec.json.encode({**head, "numbers": numbers, "calls": arguments})
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _encode_calls_carefully(head, calls)
    if b"null" in line and any(has_non_finite(call.arguments, group.objects) for call in calls):
        return _encode_calls_carefully(head, calls)
    return line + b"\n", list(calls)


def has_non_finite(arguments: Sequence[Any], objects: Sequence[str]) -> bool:
    """Whether a plain argument (a row, rows, datasets) contains NaN or infinity.

    msgspec would write null, but a missing cell must stay NaN, which `encode_carefully` writes.
    """
    known = len(objects)
    # No generator, because this runs for every batch with a null.
    for place, argument in enumerate(arguments):
        if (place >= known or not objects[place]) and _is_non_finite(argument):
            return True
    return False


def _is_non_finite(value: Any) -> bool:
    if type(value) is dict:
        for item in value.values():  # noqa: SIM110 - twice as fast
            if type(item) in _LOOKED_INTO and _is_non_finite(item):
                return True
        return False
    if type(value) is list:
        return bool(value) and type(value[0]) is dict and any(map(_is_non_finite, value))
    return type(value) is float and not isfinite(value)


def encode_carefully(arguments: Sequence[Any]) -> bytes:
    """Encode JSON with Python's extensions: NaN, infinities, lone surrogates."""
    return json.dumps(list(arguments), default=msgspec.to_builtins).encode()


def _encode_calls_carefully(
    head: dict[str, Any], calls: Sequence[SnippetCall]
) -> tuple[bytes, list[SnippetCall]]:
    good: dict[int, Raw] = {}
    for call in calls:
        try:
            good[call.number] = Raw(encode_carefully(call.arguments))
        except (TypeError, ValueError, RecursionError) as error:
            call.fail(TypeError(f"an argument of `{call.group.name}` is not JSON: {error}"))
    line = msgspec.json.encode({**head, "numbers": list(good), "calls": list(good.values())})
    return line + b"\n", [call for call in calls if call.number in good]


def encode_answers(answers: Sequence[Answer]) -> bytes:
    """Return a line with answers. An answer that is not JSON becomes a failure."""
    try:
        return msgspec.json.encode({"answers": answers}) + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError):
        good = b",".join(map(_encode_answer_carefully, answers))
        return b'{"answers":[%b]}\n' % good


def _encode_answer_carefully(answer: Answer) -> bytes:
    number, ask, *_ = answer
    try:
        return json.dumps(answer).encode()
    except (TypeError, ValueError, RecursionError) as error:
        refusal = ["TypeError", f"an answer is not JSON: {error}"]
        return json.dumps([number, ask, None, refusal]).encode()


def split_name(function: str, sources: Container[str], objects: Sequence[str]) -> tuple[str, str]:
    """Split `source:function`; KeyError or ValueError if it cannot be called."""
    key, _, name = function.rpartition(":")
    if key not in sources:
        raise KeyError(f"unknown source `{key}`")
    if not KINDS.issuperset(objects):
        raise ValueError(f"expected objects of {sorted(KINDS)}, got {list(objects)}")
    return key, name


@lru_cache(maxsize=256)
def find_definition(source: Source, name: str) -> tuple[int, bool]:
    """Return the line of a function and whether it is `async`; line 1 if it is not found."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return source.line, False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            line = source.line - 1 + node.lineno
            return line, isinstance(node, ast.AsyncFunctionDef)
    return source.line, False
