"""Call an author's functions in this process, without a time limit. For tests.

Functions are found and called, and their results are read, as in a separate process.
"""

import asyncio
import json
from collections.abc import Awaitable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any

import msgspec
from msgspec import structs

from evalwright.errors import SnippetFailed
from evalwright.ports import Predict
from evalwright.snippets.calls import Questions, encode_carefully, has_non_finite, split_name
from evalwright.snippets.inside.functions import Function, ImportAliases, SnippetModel, Sources
from evalwright.snippets.inside.results import CallFailed, NoAnswer, encode_result
from evalwright.snippets.process import MAX_RESULT_BYTES
from evalwright.snippets.sources import Source

_objects = partial(import_module, "evalwright.objects")


class DirectSnippets:
    """Calls the functions of `sources`. Timeouts are ignored; prints go to stdout."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        plain = {key: structs.asdict(source) for key, source in sources.items()}
        self._sources = Sources(plain, _objects)
        self._keys = set(sources)
        self._names = ImportAliases(_objects)
        self._names.install()
        self._closed = False

    async def call(
        self,
        function: str,
        arguments: Sequence[Any],
        *,
        objects: Sequence[str] = (),
        timeout_s: float | None = None,
        predict: Predict | None = None,
        waits: bool = False,
    ) -> Any:
        """Return the result of `source:function` as JSON."""
        del timeout_s, waits
        key, name = split_name(function, self._keys, objects)
        if self._closed:
            raise RuntimeError("the snippets are closed")
        copies = _copy_arguments(arguments, objects)
        questions = Questions(predict) if predict else None
        try:
            if questions:
                model = SnippetModel(_make_ask(questions), _objects)
                for place, kind in enumerate(objects):
                    if kind == "Model" and place < len(copies):
                        copies[place] = model
            callee = self._sources.find_function(key, name, objects)
            value = await _call_function(callee, copies)
            return msgspec.json.decode(encode_result(value, callee.place, MAX_RESULT_BYTES))
        except CallFailed as failed:
            original = questions.failure(failed.ask) if questions else None
            raise original or SnippetFailed(failed.kind, str(failed), hint=failed.hint) from None
        finally:
            if questions:
                questions.cancel()
                if questions.stopped:
                    raise questions.stopped

    async def close(self) -> None:
        """Reject further calls of snippets. Calling it again does nothing."""
        if not self._closed:
            self._closed = True
            self._names.remove()


def _copy_arguments(arguments: Sequence[Any], objects: Sequence[str]) -> list[Any]:
    careful = has_non_finite(arguments, objects)
    line = encode_carefully(arguments) if careful else msgspec.json.encode(list(arguments))
    copies: list[Any] = json.loads(line)
    return copies


async def _call_function(function: Function, arguments: list[Any]) -> Any:
    if function.is_async:
        value = function.call(arguments)
    else:  # in a thread, because it may block or run its own event loop
        value = await asyncio.to_thread(function.call, arguments)
    return await function.wait(value) if isinstance(value, Awaitable) else value


def _make_ask(questions: Questions) -> Any:
    loop = asyncio.get_running_loop()
    numbers = count()

    def ask(question: bytes) -> "Future[Any]":
        future: Future[Any] = Future()
        plain = msgspec.json.decode(question)
        loop.call_soon_threadsafe(questions.begin, next(numbers), plain, partial(_settle, future))
        return future

    return ask


def _settle(future: "Future[Any]", ask: int, answer: Any, failure: tuple[str, str] | None) -> None:
    if future.cancelled():
        return
    if failure is None:
        future.set_result(answer)
    else:
        future.set_exception(NoAnswer(*failure, ask))
