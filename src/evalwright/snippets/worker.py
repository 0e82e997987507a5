"""A worker: one process that an author's functions are called in, batch after batch.

    async with Worker({"scorer": Source(text, "tasks.yaml", line=12)}, logger.info) as worker:
        results = await worker.call("scorer:compute_scores", [[sample, output]], timeout_s=10)

Holds:      a deadline for each call; rlimits on address space, size of a file, open files, core
            dumps, and CPU time behind the deadline; an environment of the few variables that
            Python needs and those it is given, so none of the user's keys; standard streams of its
            own: prints go to `log`, stdin is empty. A call that raises, hangs, crashes its
            process, or returns no JSON costs that call. The process is started when it is first
            needed, and again when it has died; when it ends, so does its group.
Does not:   isolate: snippets are as trusted as the project. They keep their state from call to
            call, and lose it when another call ends the process. A source that hangs or crashes
            at its top level is not tried again. What leaves the process group (`setsid`) stays.
"""

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from evalwright.snippets.exchange import Log
from evalwright.snippets.process import Calls, Ending, Process, Settings
from evalwright.snippets.results import Result, SnippetError, Source


class Worker:
    """Calls the functions of `sources`; calls that are made at once take turns.

    `log` is called with each line that is printed, in a thread of the worker's.
    """

    def __init__(
        self, sources: Mapping[str, Source], log: Log, settings: Settings | None = None
    ) -> None:
        self._sources = dict(sources)
        self._log = log
        self._settings = settings or Settings()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="snippets")
        self._process: Process | None = None
        self._broken: dict[str, SnippetError] = {}
        self._stops: set[threading.Event] = set()
        self._closed = False

    async def call(
        self, function: str, batch: Sequence[Sequence[Any]], *, timeout_s: float
    ) -> list[Result]:
        """Call `source:function` with each list of arguments; one result each, in order.

        ChildProcessError, when no process can be had. When cancelled, first see it ended.
        """
        source, _, name = function.rpartition(":")
        if source not in self._sources:
            raise KeyError(f"there is no source `{source}`")
        if self._closed:
            raise RuntimeError("the worker is closed")
        stop = threading.Event()
        self._stops.add(stop)
        thread = self._thread.submit(self._call, (source, name), batch, timeout_s, stop)
        running = asyncio.wrap_future(thread)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            if not thread.cancel():  # its turn had come
                await asyncio.wait([running])
            raise
        finally:
            self._stops.discard(stop)

    async def close(self) -> None:
        """End the process, and the calls that are under way. A second time does nothing."""
        if self._closed:
            return
        self._closed = True
        for stop in self._stops:
            stop.set()
        await asyncio.wrap_future(self._thread.submit(self._end))
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _call(
        self,
        function: tuple[str, str],
        batch: Sequence[Sequence[Any]],
        timeout_s: float,
        stop: threading.Event,
    ) -> list[Result]:
        source, name = function
        arguments = [json.dumps(list(each)).encode() for each in batch]
        results: list[Result] = []
        while len(results) < len(arguments):
            if source in self._broken:
                failed = Result(error=self._broken[source])
                results += [failed] * (len(arguments) - len(results))
                break
            calls = Calls(
                source=source,
                function=name,
                arguments=arguments[len(results) :],
                timeout_s=timeout_s,
            )
            answered, ending = self._make(calls, stop)
            results += answered
            if ending is None:
                continue
            if ending.why == "stopped":
                raise ChildProcessError("the calls were stopped")
            error = _error(ending, self._settings.load_s if ending.loading else timeout_s)
            if ending.loading:
                self._broken[source] = error
            else:
                results.append(Result(error=error))
        return results

    def _make(self, calls: Calls, stop: threading.Event) -> tuple[list[Result], Ending | None]:
        if self._process is not None and not self._process.is_alive():
            self._end()  # it died between two batches, by no fault of this one
        if self._process is None:
            self._process = Process(self._sources, self._settings, self._log)
        ended = True
        try:
            answered, ending = self._process.calls(calls, stop)
            ended = ending is not None
        finally:
            if ended:
                self._end()
        return answered, ending

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


def _error(ending: Ending, allowed_s: float) -> SnippetError:
    where = " while its source was loaded" if ending.loading else ""
    if ending.why == "timeout":
        text = f"ran longer than {allowed_s:g} s{where}"
        return SnippetError(kind="timeout", type="TimeoutError", message=text)
    text = f"{ending.detail}{where}"
    return SnippetError(kind="crashed", type="ChildProcessError", message=text)
