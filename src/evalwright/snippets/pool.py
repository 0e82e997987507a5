"""A pool of processes that call an author's functions.

    pool = SnippetPool(collect_sources(snippets), log=logger.info)
    scores = await pool.call(snippet.function("compute_scores"), [sample, trace], objects=(…))

Calls of the same function are sent in batches that take about a quarter of a second. Plain
functions are called one after another, in `processes` processes. Functions that are async, query
the model or wait for something outside are called concurrently in one separate process.

Holds:      Each call has a time limit, not counting waits for a model. Processes have rlimits on
            address space, file size, open files and core dumps, an environment without keys, an
            empty stdin, and output that goes to `log`. A call that raises, hangs, crashes its
            process or does not return JSON fails alone. Processes are started on demand and
            restarted after they die. They and their process groups end with the engine.
Does not:   Isolate the code: snippets are as trusted as the project. Each process keeps its state
            between calls and loses it when it ends.

A call that ends its process is identified by its mark and fails. The other calls run again in a new
process, unless they have queried the model, because no query is paid for twice.
"""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
from msgspec import Raw, Struct

from evalwright.errors import SnippetFailed
from evalwright.ports import Predict
from evalwright.processes import START_S
from evalwright.snippets.calls import (
    Answer,
    Group,
    Questions,
    SnippetCall,
    encode_answers,
    encode_calls,
    find_definition,
    split_name,
)
from evalwright.snippets.process import Log, SnippetProcess, SnippetSettings
from evalwright.snippets.sources import Source, resolve_folders

_BATCH = 500
_BATCH_S = 0.25
_FIRST_BATCH = 32
# Calls are collected for this time; a single call does not wait.
_COLLECT_S = 0.002
_STREAM_S = 0.01
# Time that calls wait before another process is started for them.
_SPREAD_S = 0.1
# Interval of checks that need polling: for calls that take too long, and for processes that died
# while a fork holds their socket.
_LOOK_S = 0.5
_AGAIN_S = 0.02
# Additional time for threads, because the process itself ends their calls in time.
_GRACE_S = 1.0


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
        self.settings = settings or SnippetSettings()
        self.sources = resolve_folders(sources, self.settings.directory)
        self.log = log
        self.broken: dict[str, tuple[str, str]] = {}
        """Sources whose top level ended a process, with the reason. They are not loaded again."""
        self._processes = processes
        self._numbers = count(1)
        self._queues: defaultdict[Group, deque[SnippetCall]] = defaultdict(deque)
        self._batch_workers: list[_SnippetWorker] = []
        self._concurrent_workers: list[_SnippetWorker] = []
        self._pace: dict[Group, float] = {}
        self._sent: dict[_SnippetWorker, tuple[Group, int, float]] = {}
        self._wake: asyncio.Handle | None = None
        self._waiting_for = 0
        self._waiting_since = 0.0
        self._last_sent = 0.0
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
        """Call `source:function` and return its JSON value, or raise `SnippetFailed`."""
        key, name = split_name(function, self.sources, objects)
        if self._closed:
            raise RuntimeError("the snippets are closed")
        if broken := self.broken.get(key):
            raise SnippetFailed(*broken)
        group = Group(
            key,
            name,
            tuple(objects),
            self.settings.timeout_s if timeout_s is None else timeout_s,
            waits or "Model" in objects or find_definition(self.sources[key], name)[1],
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
                if questions is not None:
                    questions.cancel()
                for worker in self._batch_workers + self._concurrent_workers:
                    worker.forget(call)

    async def close(self) -> None:
        """End the processes. Calling it again does nothing."""
        self._closed = True
        if self._wake is not None:
            self._wake.cancel()
        pending = [call for queue in self._queues.values() for call in queue]
        for worker in self._batch_workers + self._concurrent_workers:
            pending += worker.end()
        self._batch_workers, self._concurrent_workers = [], []
        self._queues.clear()
        for call in pending:
            call.fail(SnippetFailed("stopped", "snippets were stopped"))

    def _enqueue(self, call: SnippetCall) -> None:
        self._queues[call.group].append(call)
        if self._wake is None:
            loop = asyncio.get_running_loop()
            busy = self._waiting_for > 1 and not call.group.concurrent
            streams = busy and loop.time() - self._last_sent < _STREAM_S
            self._wake = loop.call_later(_COLLECT_S if streams else 0, self._dispatch)

    def _dispatch(self) -> None:
        self._wake = None
        if self._closed:
            return
        more = True
        while more:  # one batch per group in turn
            more = False
            for group in list(self._queues):
                if worker := self._find_worker(group):
                    queue = self._queues.pop(group)
                    self._send_batch(worker, group, queue)
                    if queue:
                        self._queues[group] = queue
                        more = True
        if not self._queues:
            self._waiting_since = 0.0

    def _send_batch(
        self, worker: "_SnippetWorker", group: Group, queue: deque[SnippetCall]
    ) -> None:
        calls: list[SnippetCall] = []
        size = self._batch_size(group, len(queue))
        while queue and len(calls) < size and not (calls and queue[0].alone):
            call = queue.popleft()
            if broken := self.broken.get(group.key):
                call.fail(SnippetFailed(*broken))
            elif not call.future.done():
                calls.append(call)
                if call.alone:
                    break
        if calls:
            self._last_sent = asyncio.get_running_loop().time()
            self._sent[worker] = group, len(calls), self._last_sent
            worker.send(calls)

    def _batch_size(self, group: Group, waiting: int) -> int:
        if group.concurrent:
            return _BATCH
        pace = self._pace.get(group)
        size = _FIRST_BATCH if pace is None else int(_BATCH_S / max(pace, 1e-6))
        free = sum(not worker.owed for worker in self._batch_workers)
        return max(1, min(size, _BATCH, -(-waiting // max(free, 1))))

    def _find_worker(self, group: Group) -> "_SnippetWorker | None":
        if group.concurrent:
            for worker in self._concurrent_workers:
                if not worker.worn:
                    return worker
            return self._start(self._concurrent_workers, group)
        workers = self._batch_workers
        for worker in workers:
            if not worker.owed:
                return worker
        if not workers or (len(workers) < self._processes and self._wait_is_over()):
            return self._start(workers, group)
        return None

    def _wait_is_over(self) -> bool:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if not self._waiting_since or not all(worker.ready for worker in self._batch_workers):
            self._waiting_since = now
        remaining_s = self._waiting_since + _SPREAD_S - now
        if remaining_s > 0 and self._wake is None:
            self._wake = loop.call_later(remaining_s, self._dispatch)
        return remaining_s <= 0

    def _start(self, workers: "list[_SnippetWorker]", group: Group) -> "_SnippetWorker | None":
        try:
            worker = _SnippetWorker(self, concurrent=group.concurrent)
        except ChildProcessError as error:
            for call in self._queues.pop(group):
                call.fail(SnippetFailed("crashed", str(error)))
            return None
        workers.append(worker)
        return worker

    def update(self, worker: "_SnippetWorker") -> None:
        """Continue after a process has answered all calls or died."""
        sent = self._sent.pop(worker, None)
        if worker.worn and not worker.owed and not worker.dead:
            worker.end()
        if worker.dead:
            for workers in (self._batch_workers, self._concurrent_workers):
                if worker in workers:
                    workers.remove(worker)
        elif sent is not None:
            group, size, since = sent
            pace = (asyncio.get_running_loop().time() - since) / size
            self._pace[group] = (self._pace.get(group, pace) + pace) / 2
        if self._queues and self._wake is None:
            self._wake = asyncio.get_running_loop().call_soon(self._dispatch)

    def take_back(self, calls: list[SnippetCall]) -> None:
        """Queue calls again for a different process."""
        for call in reversed(calls):
            self._queues[call.group].appendleft(call)


class _Failure(Struct, frozen=True):
    kind: str
    message: str
    hint: str
    ask: int | None


class _CallResult(Struct, frozen=True, array_like=True):
    number: int
    value: Raw
    failure: _Failure | None = None


class _Message(Struct, frozen=True):
    done: list[_CallResult] = []
    asks: list[tuple[int, int, tuple[Any, dict[str, Any]]]] = []
    ready: bool = False
    worn: bool = False


_MESSAGE = msgspec.json.Decoder(_Message)


class _SnippetWorker:
    """A process and its pending calls."""

    def __init__(self, pool: SnippetPool, *, concurrent: bool) -> None:
        self.owed: dict[int, SnippetCall] = {}
        self.worn = False
        """Whether the process should receive no more calls."""
        self.dead = False
        self.ready = False
        """Whether the process has started to serve calls."""
        self._pool, self._concurrent = pool, concurrent
        self._numbers = {key: number for number, key in enumerate(pool.sources)}
        self._answers: list[Answer] = []
        self._suspect: tuple[int, int, float] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._process = SnippetProcess(
            pool.settings, pool.log, on_line=self._read_message, on_loss=self._handle_loss
        )
        self._process.send_orders(pool.settings, pool.sources, concurrent=concurrent)

    def send(self, calls: Sequence[SnippetCall]) -> None:
        """Send calls of one group."""
        group = calls[0].group
        path = self._pool.sources[group.key].path
        if not self.owed:
            self._process.printed.begin(path)
        elif self._process.printed.name != path:
            self._process.printed.begin("")  # it is unknown which call prints
        line, good = encode_calls(group, self._numbers[group.key], calls)
        if good:
            self.owed.update({call.number: call for call in good})
            self._process.send(line)
            self._schedule_check()

    def forget(self, call: SnippetCall) -> None:
        """Drop a call whose caller was cancelled."""
        if call.number not in self.owed:
            return
        if self._concurrent:
            self._drop(call)
        elif all(each.future.done() for each in self.owed.values()):
            self.end()
            self._pool.update(self)

    def end(self) -> list[SnippetCall]:
        """End the process and return its pending calls."""
        self.dead = True
        if self._timer is not None:
            self._timer.cancel()
        self._process.kill()
        owed, self.owed = list(self.owed.values()), {}
        return owed

    def _drop(self, call: SnippetCall) -> None:
        del self.owed[call.number]
        self._process.send(b'{"cancelled":[%d]}\n' % call.number)
        if not self.owed:
            self._pool.update(self)

    def _read_message(self, line: bytearray) -> None:
        try:
            message = _MESSAGE.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._loop.call_soon(self._handle_loss)
            return
        self.ready = self.ready or message.ready
        for result in message.done:
            if call := self.owed.pop(result.number, None):
                self._settle(call, result)
        for number, ask, question in message.asks:
            if call := self.owed.get(number):
                self._ask(call, ask, question)
        self.worn = self.worn or message.worn
        if (message.done or message.worn) and not self.owed and not self.dead:
            self._process.read_output()
            self._pool.update(self)

    def _settle(self, call: SnippetCall, result: _CallResult) -> None:
        if failure := result.failure:
            original = call.questions.failure(failure.ask) if call.questions else None
            call.fail(original or SnippetFailed(failure.kind, failure.message, hint=failure.hint))
            return
        try:
            call.finish(msgspec.json.decode(result.value))
        except (msgspec.MsgspecError, RecursionError) as error:
            self._fail(call, "result", f"the result cannot be read: {error}")

    def _ask(self, call: SnippetCall, ask: int, question: tuple[Any, dict[str, Any]]) -> None:
        questions = call.questions
        if questions is None:
            self._answer((call.number, ask, None, ("TypeError", "there is no model to query")))
            return

        def pass_on(ask: int, answer: Any, reason: tuple[str, str] | None) -> None:
            if call.number not in self.owed:
                return
            if questions.stopped is not None:
                call.fail(questions.stopped)
                self._drop(call)
                return
            self._answer((call.number, ask, answer, reason))

        questions.begin(ask, question, pass_on)

    def _answer(self, answer: Answer) -> None:
        """Send an answer together with others that are ready."""
        self._answers.append(answer)
        if len(self._answers) == 1:
            self._loop.call_soon(self._send_answers)

    def _send_answers(self) -> None:
        answers, self._answers = self._answers, []
        if not self.dead:
            self._process.send(encode_answers(answers))

    def _schedule_check(self) -> None:
        if self._timer is None:
            shortest = min(call.group.timeout_s for call in self.owed.values())
            delay = max(_AGAIN_S, min(_LOOK_S, shortest / 4, self._pool.settings.load_s / 4))
            self._timer = self._loop.call_later(
                _AGAIN_S if self._suspect else delay, self._check_health
            )

    def _check_health(self) -> None:
        self._timer = None
        if self.dead or not self.owed:
            return
        now = time.monotonic()
        suspect, self._suspect = self._suspect, self._find_overdue(now)
        if self._process.is_dead():
            self._process.drain()
            self._handle_loss()
        elif not self.ready and now > self._process.started_at + START_S:
            self._blame([], "timeout", "no output")
        elif suspect is not None and suspect == self._suspect:
            _, number, _ = suspect
            self._blame([number], "timeout", f"ran longer than {self._allowed_s(number):g} s")
        elif self._loop_hangs(now):
            self._blame([], "timeout", "its event loop hung")
        else:
            self._schedule_check()

    def _loop_hangs(self, now: float) -> bool:
        """Whether the event loop hangs for a reason other than a known call."""
        beaten, marks = self._process.marks.last_beat(), self._process.marks.read()
        longest = max(call.group.timeout_s for call in self.owed.values())
        return bool(beaten) and not marks and now - beaten > longest + _GRACE_S

    def _find_overdue(self, now: float) -> tuple[int, int, float] | None:
        for slot, number, since in self._process.marks.read():
            call = self.owed.get(number)
            if slot and call and call.questions and call.questions.waits:
                continue
            if now - since > self._allowed_s(number) + (_GRACE_S if slot else 0):
                return slot, number, since
        return None

    def _allowed_s(self, number: int) -> float:
        settings = self._pool.settings
        if number < 0:
            return settings.load_s
        call = self.owed.get(number)
        return call.group.timeout_s if call else settings.timeout_s

    def _handle_loss(self) -> None:
        if not self.dead:
            self.dead = True
            reason, busy = self._process.end()
            self._blame(busy, "crashed", reason)

    def _blame(self, numbers: list[int], kind: str, reason: str) -> None:
        """Fail the calls that ended the process and return the others."""
        self.dead = True
        self._process.kill()  # also reads what it sent before
        guilty = [self.owed[number] for number in numbers if number in self.owed]
        loading = [number for number in numbers if number < 0]
        owed = self.end()
        if not self.ready:
            words = self._process.printed.last or reason
            guilty = self._fail_all(owed, "crashed", f"the process did not start: {words}")
        elif loading:
            key, source = list(self._pool.sources.items())[-1 - loading[0]]
            text = f"{source.path}:{source.line}: {reason}, while its top level ran"
            self._pool.broken[key] = kind, text
            guilty = self._fail_all([call for call in owed if call.group.key == key], kind, text)
        else:
            if not numbers and len(owed) == 1:
                guilty = owed
            several = (
                f"this call or another of {len(guilty)} concurrent calls: "
                if len(guilty) > 1
                else ""
            )
            for call in guilty:
                self._fail(call, kind, several + reason)
        innocent = [call for call in owed if call not in guilty]
        self._give_back(innocent, reason, known=bool(guilty or numbers))
        self._pool.update(self)

    def _fail_all(self, calls: list[SnippetCall], kind: str, text: str) -> list[SnippetCall]:
        for call in calls:
            call.fail(SnippetFailed(kind, text))
        return calls

    def _give_back(self, calls: list[SnippetCall], reason: str, *, known: bool) -> None:
        again = []
        for call in calls:
            asked = call.questions is not None and call.questions.asked
            if self._concurrent and (asked or call.returned):
                why = "after it had queried the model" if asked else "for the second time"
                self._fail(call, "crashed", f"another call ended its process, {why}: {reason}")
            else:
                call.returned, call.alone = True, call.alone or not known
                again.append(call)
        self._pool.take_back(again)

    def _fail(self, call: SnippetCall, kind: str, reason: str) -> None:
        hint = ""
        if kind == "timeout":
            allowed = f"{call.group.timeout_s:g} s"
            hint = f"a call may take {allowed}, not counting the time for model calls"
        elif reason.endswith("SIGKILL"):
            hint = "there may not be enough memory"
        source, name = self._pool.sources[call.group.key], call.group.name
        line, _ = find_definition(source, name)
        call.fail(SnippetFailed(kind, f"{source.path}:{line} in {name}: {reason}", hint=hint))
