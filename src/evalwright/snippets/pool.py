"""A pool of processes that an author's functions are called in.

    pool = SnippetPool(sources_of(snippets), log=logger.info)
    scores = await pool.call(snippet.function("compute_scores"), [sample, trace], objects=(…))

Calls of one function that are made at once travel together, as many as take about a quarter of a
second. Plain functions are called one after the other, in `processes` processes; async functions,
and all that ask the model or wait for something outside, many at once in one process of their own.

Holds:      a time for each call, in which waiting for a model does not count; rlimits on address
            space, size of a file, open files and core dumps; an environment without keys; standard
            streams of its own: prints go to `log`, stdin is empty. A call that raises, hangs,
            crashes its process, or returns no JSON costs that call. A process is started when it
            is first needed, and again when it has died; it ends with the engine, and its group
            with it.
Does not:   isolate: snippets are as trusted as the project. They keep their state from call to
            call, each process its own, and lose it when another call ends the process. A call may
            be made twice, when the one after it ends the process.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from evalwright.errors import SnippetFailed
from evalwright.ports import Predict
from evalwright.snippets.calls import Group, Questions, SnippetCall, find_definition, split_name
from evalwright.snippets.process import Log, SnippetSettings
from evalwright.snippets.sources import Source, resolve_folders
from evalwright.snippets.worker import PoolState, SnippetWorker

_BATCH = 500
_BATCH_S = 0.25
_FIRST_BATCH = 32
# A stream of calls is collected this long; a single call does not wait.
_COLLECT_S = 0.002
_STREAM_S = 0.01
# How long calls wait before another process is started for them.
_SPREAD_S = 0.1


class SnippetPool:
    """Calls the functions of `sources`; `log` is called with each line that is printed."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        log: Log,
        settings: SnippetSettings | None = None,
        processes: int = 2,
    ) -> None:
        settings = settings or SnippetSettings()
        self._state = PoolState(
            sources=resolve_folders(sources, settings.directory),
            settings=settings,
            log=log,
            broken={},
        )
        self._processes = processes
        self._numbers = count(1)
        self._queues: dict[Group, deque[SnippetCall]] = {}
        self._callers: list[SnippetWorker] = []
        self._talkers: list[SnippetWorker] = []
        self._pace: dict[Group, float] = {}
        self._given: dict[SnippetWorker, tuple[Group, int, float]] = {}
        self._wake: asyncio.Handle | None = None
        self._waiting_for = 0
        self._waiting_since = 0.0
        self._last_given = 0.0
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
        """What `source:function` returns, as JSON; `SnippetFailed` when it gives no value."""
        key, name = split_name(function, self._state.sources, objects)
        if self._closed:
            raise RuntimeError("the snippets are closed")
        if broken := self._state.broken.get(key):
            raise SnippetFailed(*broken)
        group = Group(
            key,
            name,
            tuple(objects),
            self._state.settings.timeout_s if timeout_s is None else timeout_s,
            waits or "Model" in objects or find_definition(self._state.sources[key], name)[1],
        )
        questions = Questions(predict) if predict else None
        call = SnippetCall(next(self._numbers), group, arguments, questions)
        self._waiting_for += 1
        self._enqueue(call)
        try:
            return await call.future
        finally:
            self._waiting_for -= 1
            if call.future.cancelled():
                self._forget(call)

    async def close(self) -> None:
        """End what runs; a second time does nothing."""
        self._closed = True
        if self._wake is not None:
            self._wake.cancel()
        left = [call for queue in self._queues.values() for call in queue]
        for worker in self._callers + self._talkers:
            left += worker.end()
        self._callers, self._talkers = [], []
        self._queues.clear()
        for call in left:
            call.fail(SnippetFailed("stopped", "the calls of snippets were stopped"))

    def _enqueue(self, call: SnippetCall) -> None:
        queue = self._queues.get(call.group)
        if queue is None:
            queue = self._queues[call.group] = deque()
        queue.append(call)
        if self._wake is None:
            loop = asyncio.get_running_loop()
            busy = self._waiting_for > 1 and not call.group.talks
            streams = busy and loop.time() - self._last_given < _STREAM_S
            self._wake = loop.call_later(_COLLECT_S if streams else 0, self._dispatch)

    def _forget(self, call: SnippetCall) -> None:
        if call.questions is not None:
            call.questions.cancel()
        for worker in self._callers + self._talkers:
            worker.forget(call)

    def _dispatch(self) -> None:
        """Give the calls that wait to processes that can take them."""
        self._wake = None
        if self._closed:
            return
        given = True
        while given:  # a batch of each in turn
            given = False
            for group in list(self._queues):
                if worker := self._find_worker(group):
                    queue = self._queues.pop(group)
                    self._give(worker, group, queue)
                    if queue:
                        self._queues[group] = queue
                        given = True
        if not self._queues:
            self._waiting_since = 0.0

    def _give(self, worker: SnippetWorker, group: Group, queue: deque[SnippetCall]) -> None:
        calls: list[SnippetCall] = []
        size = self._batch_size(group, len(queue))
        while queue and len(calls) < size and not (calls and queue[0].alone):
            call = queue.popleft()
            if broken := self._state.broken.get(group.key):
                call.fail(SnippetFailed(*broken))
            elif not call.future.done():
                calls.append(call)
                if call.alone:
                    break
        if calls:
            self._last_given = asyncio.get_running_loop().time()
            self._given[worker] = group, len(calls), self._last_given
            worker.give(calls)

    def _batch_size(self, group: Group, waiting: int) -> int:
        if group.talks:
            return _BATCH
        pace = self._pace.get(group)
        size = _FIRST_BATCH if pace is None else int(_BATCH_S / max(pace, 1e-6))
        free = sum(not worker.owed for worker in self._callers)
        return max(1, min(size, _BATCH, -(-waiting // max(free, 1))))

    def _find_worker(self, group: Group) -> SnippetWorker | None:
        """A process that can take calls of a group now."""
        if group.talks:
            for worker in self._talkers:
                if not worker.worn:
                    return worker
            return self._start(self._talkers, group)
        for worker in self._callers:
            if not worker.owed:
                return worker
        if not self._callers or (len(self._callers) < self._processes and self._have_waited()):
            return self._start(self._callers, group)
        return None

    def _have_waited(self) -> bool:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if not self._waiting_since or not all(worker.ready for worker in self._callers):
            self._waiting_since = now
        left = self._waiting_since + _SPREAD_S - now
        if left > 0 and self._wake is None:
            self._wake = loop.call_later(left, self._dispatch)
        return left <= 0

    def _start(self, workers: list[SnippetWorker], group: Group) -> SnippetWorker | None:
        try:
            worker = SnippetWorker(
                self._state,
                talks=group.talks,
                changed=lambda: self._changed(worker),
                back=self._take_back,
            )
        except ChildProcessError as error:
            for call in self._queues.pop(group):
                call.fail(SnippetFailed("crashed", str(error)))
            return None
        workers.append(worker)
        return worker

    def _changed(self, worker: SnippetWorker) -> None:
        """A process has answered all, or is dead."""
        if worker.worn and not worker.owed and not worker.dead:
            worker.end()
        if worker.dead:
            self._callers = [each for each in self._callers if each is not worker]
            self._talkers = [each for each in self._talkers if each is not worker]
            self._given.pop(worker, None)
        elif given := self._given.pop(worker, None):
            group, size, since = given
            pace = (asyncio.get_running_loop().time() - since) / size
            self._pace[group] = (self._pace.get(group, pace) + pace) / 2
        if self._queues and self._wake is None:
            self._wake = asyncio.get_running_loop().call_soon(self._dispatch)

    def _take_back(self, calls: list[SnippetCall]) -> None:
        for call in reversed(calls):
            self._queues.setdefault(call.group, deque()).appendleft(call)
