"""Calls of plain functions, one after the other, in batches.

    engine   {"key": "…", "name": "compute_scores", "objects": [""], "numbers": [7], "calls": [[…]]}
    child    {"done": [[7, value]], "asks": []}         or [7, null, {"kind", "message", …}]

The values of a batch are sent together, but none waits long.
"""

import asyncio
import os
import time
from collections.abc import Awaitable
from typing import Any, NoReturn

from .channel import Channel, Streams
from .failed import Failed
from .functions import Function, Sources
from .marks import Marks
from .results import encoded

FLUSH_S = 0.05


class Calls:
    """Serves plain functions."""

    def __init__(self, channel: Channel, marks: Marks, sources: Sources, max_bytes: int) -> None:
        self._channel, self._marks, self._sources = channel, marks, sources
        self._max_bytes = max_bytes
        self._streams = Streams()
        self._loop: asyncio.AbstractEventLoop | None = None

    def serve(self) -> NoReturn:
        """Answer until the engine goes away."""
        while True:
            order = self._channel.read()
            self._streams.restore()
            self._marks.begin(-1 - order["source"])
            try:
                function = self._sources.function(order["key"], order["name"], order["objects"])
            except Failed as failed:
                for number in order["numbers"]:
                    self._channel.failed(number, failed)
            else:
                self._call_all(function, order)
            self._marks.end()
            self._streams.flush()
            self._channel.flush()

    def _call_all(self, function: Function, order: dict[str, Any]) -> None:
        channel, marks = self._channel, self._marks
        flush_at = time.monotonic() + FLUSH_S
        for number, arguments in zip(order["numbers"], order["calls"], strict=True):
            self._streams.restore()
            marks.begin(number)
            try:
                value = function.call(arguments)
                if type(value) is not dict and isinstance(value, Awaitable):
                    value = self._wait(function, value)
                channel.done(number, encoded(value, function.place, self._max_bytes))
            except Failed as failed:
                channel.failed(number, failed)
            if channel.is_copy:
                os._exit(0)
            if time.monotonic() >= flush_at:
                # If the engine cannot be told, it is not known whose fault that is.
                marks.end()
                channel.flush()
                flush_at = time.monotonic() + FLUSH_S

    def _wait(self, function: Function, awaitable: Awaitable[Any]) -> Any:
        if self._loop is None:
            # One for all calls: what a function keeps from call to call belongs to its loop.
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(function.wait(awaitable))
