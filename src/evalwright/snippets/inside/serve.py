"""Set limits and import aliases, then serve either batches or concurrent calls.

`_BatchServer` calls plain functions one after another:

    engine   {"key": "…", "name": "compute_scores", "objects": [""], "numbers": [7], "calls": [[…]]}
    child    {"done": [[7, value]], "asks": []}         or [7, null, {"kind", "message", …}]

The values of a batch are sent together, but no value waits longer than `FLUSH_S`.
"""

import asyncio
import os
import resource
import sys
import time
from collections.abc import Awaitable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from .channel import Activity, Channel, Streams, watch_engine
from .concurrent_calls import ConcurrentServer
from .functions import Function, ImportAliases, Sources
from .results import CallFailed
from .tracing import give_up_tracing

FLUSH_S = 0.05


def serve(channel: int, marks: int, objects: str) -> NoReturn:
    """Serve calls until the engine ends. `objects` is the package with the argument classes."""
    # For the author's code, `__main__` must not be this script.
    sys.modules["__main__"] = ModuleType("__main__")
    watch_engine()
    give_up_tracing()
    engine = Channel(channel)
    orders = engine.read()
    for name, value in orders["limits"].items():
        _set_limit(getattr(resource, name), value)

    import_objects = partial(import_module, objects)
    ImportAliases(import_objects).install()
    sources = Sources(orders["sources"], import_objects)
    activity = Activity(marks)
    os.close(marks)
    kind = ConcurrentServer if orders["concurrent"] else _BatchServer
    engine.max_bytes = orders["max_bytes"]
    server = kind(engine, activity, sources)
    engine.send_state(ready=True)
    server.serve()


def _set_limit(kind: int, value: int) -> None:
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        value = min(value, ceiling)
    try:
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError) as refused:  # for example the address space on macOS
        del refused


class _BatchServer:
    def __init__(self, channel: Channel, marks: Activity, sources: Sources) -> None:
        self._channel, self._marks, self._sources = channel, marks, sources
        self._streams = Streams()
        self._loop: asyncio.AbstractEventLoop | None = None

    def serve(self) -> NoReturn:
        while True:
            order = self._channel.read()
            self._streams.restore()
            self._marks.begin(-1 - order["source"])
            try:
                function = self._sources.find_function(
                    order["key"], order["name"], order["objects"]
                )
            except CallFailed as failed:
                for number in order["numbers"]:
                    self._channel.add_result(number, failed)
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
            except CallFailed as failed:
                value = failed
            channel.add_result(number, value, function.place)
            if channel.is_copy:
                os._exit(0)
            if time.monotonic() >= flush_at:
                # No call is responsible if the engine cannot be reached.
                marks.end()
                channel.flush()
                flush_at = time.monotonic() + FLUSH_S

    def _wait(self, function: Function, awaitable: Awaitable[Any]) -> Any:
        if self._loop is None:
            # All calls share one loop, because objects kept between calls may belong to it.
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(function.wait(awaitable))
