"""Call an author's functions here, in this process: no deadline, no wall. For tests.

Functions are found, called and read as in a process of their own.
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
from evalwright.snippets.asking import Asking
from evalwright.snippets.calls import careful, not_in_json
from evalwright.snippets.inside.failed import Failed, NoAnswer
from evalwright.snippets.inside.functions import KINDS, Function, Sources
from evalwright.snippets.inside.model import Model
from evalwright.snippets.inside.names import Names
from evalwright.snippets.inside.results import encoded
from evalwright.snippets.settings import MAX_RESULT_BYTES
from evalwright.snippets.sources import Source

_objects = partial(import_module, "evalwright.objects")


class DirectSnippets:
    """Calls the functions of `sources`. A time is not kept; prints stay prints."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        plain = {key: structs.asdict(source) for key, source in sources.items()}
        self._sources = Sources(plain, _objects)
        self._keys = set(sources)
        self._names = Names(_objects)
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
        """What `source:function` returns, as JSON."""
        del timeout_s, waits
        key, _, name = function.rpartition(":")
        if key not in self._keys:
            raise KeyError(f"there is no source `{key}`")
        if not KINDS.issuperset(objects):
            raise ValueError(f"expected objects of {sorted(KINDS)}, got {list(objects)}")
        if self._closed:
            raise RuntimeError("the snippets are closed")
        given = _copied(arguments, objects)
        asking = Asking(predict) if predict else None
        try:
            if asking:
                model = Model(_ask(asking), _objects)
                for place, kind in enumerate(objects):
                    if kind == "Model" and place < len(given):
                        given[place] = model
            found = self._sources.function(key, name, objects)
            value = await _value(found, given)
            return msgspec.json.decode(encoded(value, found.place, MAX_RESULT_BYTES))
        except Failed as failed:
            original = asking.failure(failed.ask) if asking else None
            raise original or SnippetFailed(failed.kind, str(failed), hint=failed.hint) from None
        finally:
            if asking:
                asking.cancel()
                if asking.stopped:
                    raise asking.stopped

    async def close(self) -> None:
        """Be found no more; a second time does nothing."""
        if not self._closed:
            self._closed = True
            self._names.remove()


def _copied(arguments: Sequence[Any], objects: Sequence[str]) -> list[Any]:
    """What would arrive in another process."""
    if not_in_json(arguments, objects):
        line = careful(arguments)
    else:
        line = msgspec.json.encode(list(arguments))
    copied: list[Any] = json.loads(line)
    return copied


async def _value(function: Function, arguments: list[Any]) -> Any:
    if function.is_async:
        value = function.call(arguments)
    else:  # apart from the loop: it may wait for its answers, or run a loop of its own
        value = await asyncio.to_thread(function.call, arguments)
    return await function.wait(value) if isinstance(value, Awaitable) else value


def _ask(asking: Asking) -> Any:
    loop = asyncio.get_running_loop()
    numbers = count()

    def ask(question: bytes) -> "Future[Any]":
        future: Future[Any] = Future()
        plain = msgspec.json.decode(question)
        loop.call_soon_threadsafe(asking.begin, next(numbers), plain, partial(_settle, future))
        return future

    return ask


def _settle(future: "Future[Any]", ask: int, answer: Any, failure: tuple[str, str] | None) -> None:
    if future.cancelled():
        return
    if failure is None:
        future.set_result(answer)
    else:
        future.set_exception(NoAnswer(*failure, ask))
