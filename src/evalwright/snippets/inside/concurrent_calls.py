"""Serve concurrent calls: of async functions, and of functions that query the model.

    engine   {"key": "…", "name": "run_solver", …, "timeout_s": 60.0}     calls, as in `serve`
    child    {"done": [], "asks": [[7, 1, [input, {}]]]}                  call 7 queries the model
    engine   {"answers": [[7, 1, raw_output, null]]}                      or null, [kind, message]
    engine   {"cancelled": [7]}                                           the caller was cancelled

An `async def` runs in the event loop of the main thread. A `def` runs in its own thread, so that it
can wait for an answer. A thread that exceeds its time limit cannot be ended; the process is then
marked as `worn` and receives no more calls.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from itertools import count
from typing import Any, NoReturn

from .channel import SLOTS, Activity, Channel, Streams
from .functions import Function, SnippetModel, Sources
from .results import CallFailed, NoAnswer

_BEAT_S = 0.5

_current_call: ContextVar[int] = ContextVar("call")
"""Number of the current call, inherited by the tasks that it starts."""
_thread = threading.local()
"""`_thread.slot` is the slot for the marks of the current thread."""


class ConcurrentServer:
    """Serves concurrent calls."""

    def __init__(self, channel: Channel, marks: Activity, sources: Sources) -> None:
        self.marks = marks
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(self._make_task)
        slots = count(1)
        self.threads = ThreadPoolExecutor(
            SLOTS - 1, initializer=lambda: setattr(_thread, "slot", next(slots))
        )
        self.channel, self._sources = channel, sources
        self.streams = Streams()
        self._calls: dict[int, _ConcurrentCall] = {}
        self._unloaded: list[dict[str, Any]] = []
        self._flushing = False
        self._heart: asyncio.TimerHandle | None = None

    def serve(self) -> NoReturn:
        """Serve calls until the engine ends."""
        self.loop.add_reader(self.channel, self._read)
        self.loop.call_soon(self._read)  # data that arrived with the first message
        while True:
            self.streams.restore()
            try:
                self.loop.run_forever()
            except (
                KeyboardInterrupt,
                SystemExit,
            ) as raised:  # raised by a task that the author started
                del raised
            self._load_all()

    def send_question(self, number: int, ask: int, question: bytes) -> None:
        """Send a call's query to the engine."""
        self.channel.add_question(number, ask, question)
        self._flush_soon()

    def finish(self, call: "_ConcurrentCall", value: Any) -> None:
        """End a call with its value or `CallFailed`. Anything that it does later is ignored."""
        if self._calls.pop(call.number, None):
            self._send_result(call.number, value, call.function.place)
            call.cancel()

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, inner: Any, **more: Any
    ) -> "asyncio.Task[Any]":
        """Return a task whose steps are marked with their call."""
        number = _current_call.get(0)
        coroutine = _MarkedCoroutine(inner, number, self.marks) if number else inner
        return asyncio.Task(coroutine, loop=loop, **more)

    def _read(self) -> None:
        for message in self.channel.read_available():
            if "calls" in message:
                if self._unloaded or self._sources.needs_loading(message["key"]):
                    self._unloaded.append(message)
                    self.loop.stop()
                else:
                    self._begin_calls(message)
            for number, ask, output, failure in message.get("answers", ()):
                if call := self._calls.get(number):
                    call.settle(ask, output, failure)
            for number in message.get("cancelled", ()):
                if call := self._calls.pop(number, None):
                    call.cancel()

    def _load_all(self) -> None:
        """Load sources outside the event loop, because their top level may start one."""
        orders, self._unloaded = self._unloaded, []
        for call in self._calls.values():
            call.clock.stop()
        for order in orders:
            self.marks.begin(-1 - order["source"])
            self._find_function(order)
            self.marks.end()
            self.loop.call_soon(self._begin_calls, order)
        for call in self._calls.values():
            call.clock.go()

    def _find_function(self, order: dict[str, Any]) -> Any:
        try:
            return self._sources.find_function(order["key"], order["name"], order["objects"])
        except CallFailed as failed:
            return failed

    def _begin_calls(self, order: dict[str, Any]) -> None:
        function, objects = self._find_function(order), order["objects"]
        for number, arguments in zip(order["numbers"], order["calls"], strict=True):
            if isinstance(function, CallFailed):
                self._send_result(number, function)
                continue
            call = self._calls[number] = _ConcurrentCall(self, number, function, order["timeout_s"])
            model = SnippetModel(call.ask, self._sources.objects)
            for place, kind in enumerate(objects):
                if kind == "Model" and place < len(arguments):
                    arguments[place] = model
            context = copy_context()
            context.run(_current_call.set, number)
            context.run(call.begin, arguments)
        self._beat()

    def _beat(self) -> None:
        """While there are calls, record that the event loop is running."""
        if self._heart is not None:
            self._heart.cancel()
        self._heart = self.loop.call_later(_BEAT_S, self._beat) if self._calls else None
        self.marks.beat(alive=bool(self._calls))

    def _send_result(self, number: int, value: Any, place: str = "") -> None:
        self.marks.begin(number)  # the author's code may convert objects to JSON
        self.channel.add_result(number, value, place)
        self.marks.end()
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self.streams.restore()
        self.streams.flush()
        self.channel.flush()


class _ConcurrentCall:
    """A call in the event loop or in a thread."""

    def __init__(
        self, server: ConcurrentServer, number: int, function: Function, timeout_s: float
    ) -> None:
        self.number, self.function = number, function
        self.clock = _CallClock(server.loop, timeout_s, self._expire)
        self._server = server
        self._timeout_s = timeout_s
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[Any] | Future[Any]] = {}
        self._task: asyncio.Task[Any] | None = None
        self._over = False

    def begin(self, arguments: list[Any]) -> None:
        if self.function.is_async:
            self.clock.go()
            self._start(self._call(arguments))
        else:
            self._server.threads.submit(copy_context().run, self._run_in_thread, arguments)

    def ask(self, question: bytes) -> "asyncio.Future[Any] | Future[Any]":
        """Query the model, from any thread."""
        number, loop = next(self._numbers), self._server.loop
        if _is_running(loop):
            self._answers[number] = future = loop.create_future()
            self._send_question(number, question)
            return future
        self._answers[number] = answer = _PendingAnswer(self._server.marks, self.number)
        loop.call_soon_threadsafe(self._send_question, number, question)
        return answer

    def settle(self, number: int, output: Any, failure: tuple[str, str] | None) -> None:
        answer = self._answers.pop(number, None)
        if answer is None:
            return
        self.clock.go()
        if isinstance(answer, asyncio.Future):
            if self._over:
                answer.cancel()
            if answer.done():
                return
        elif not answer.set_running_or_notify_cancel():
            return
        if failure is None:
            answer.set_result(output)
        else:
            answer.set_exception(NoAnswer(*failure, number))

    def cancel(self) -> None:
        self._over = True
        self.clock.stop()
        if self._task is not None:
            self._task.cancel()
        for number in list(self._answers):
            self.settle(number, None, ("cancelled", "the call is over"))

    def _send_question(self, number: int, question: bytes) -> None:
        self.clock.stop()
        if self._over:
            self.settle(number, None, ("cancelled", "the call is over"))
        else:
            self._server.send_question(self.number, number, question)

    async def _call(self, arguments: list[Any]) -> Any:
        self._server.streams.restore()
        value = self.function.call(arguments)
        return await self.function.wait(value) if isinstance(value, Awaitable) else value

    def _start(self, work: Any) -> None:
        self._task = self._server.loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _run_in_thread(self, arguments: list[Any]) -> None:
        marks, loop = self._server.marks, self._server.loop
        loop.call_soon_threadsafe(self.clock.go)
        marks.begin(self.number, _thread.slot)
        try:
            value = self.function.call(arguments)
        except CallFailed as failed:
            value = failed
        marks.end(_thread.slot)
        loop.call_soon_threadsafe(self._return, value)

    def _return(self, value: Any) -> None:
        if isinstance(value, Awaitable):
            self._start(self.function.wait(value))
        else:
            self._server.finish(self, value)

    def _end(self, task: "asyncio.Task[Any]") -> None:
        if task.cancelled():
            text = f"{self.function.place}: CancelledError: the function cancelled itself"
            self._server.finish(self, CallFailed("CancelledError", text))
        else:
            self._server.finish(self, task.exception() or task.result())

    def _expire(self) -> None:
        if self._task is None:
            # The thread cannot be ended, so the process receives no more calls.
            self._server.channel.send_state(worn=True)
        text = f"{self.function.place}: ran longer than {self._timeout_s:g} s"
        hint = f"a call may take {self._timeout_s:g} s, not counting the time for model calls"
        self._server.finish(self, CallFailed("timeout", text, hint))


class _PendingAnswer(Future[Any]):
    """A pending answer. The mark of a thread is removed while it waits."""

    def __init__(self, marks: Activity, number: int) -> None:
        super().__init__()
        self._marks, self._number = marks, number

    def result(self, timeout: float | None = None) -> Any:
        slot = getattr(_thread, "slot", None)
        if slot is None:
            return super().result(timeout)
        self._marks.end(slot)
        try:
            return super().result(timeout)
        finally:
            self._marks.begin(self._number, slot)


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


class _CallClock:
    """The time limit of a call, paused while it waits for the model; calls `expire` at the end."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, expire: Callable[[], None]
    ) -> None:
        self._loop, self._left_s, self._expire = loop, seconds, expire
        self._stops = 1
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def go(self) -> None:
        """Continue. Must be called once per `stop`; a new clock is stopped."""
        self._stops -= 1
        if not self._stops:
            self._since = self._loop.time()
            self._timer = self._loop.call_later(self._left_s, self._expire)

    def stop(self) -> None:
        """Stop until `go` has been called as often as `stop`."""
        self._stops += 1
        if self._timer is not None:
            self._left_s -= self._loop.time() - self._since
            self._timer.cancel()
            self._timer = None


class _MarkedCoroutine(Coroutine[Any, Any, Any]):
    """Marks each step in the event loop with its call."""

    def __init__(self, inner: Any, number: int, marks: Activity) -> None:
        self._inner, self._number, self._marks = inner, number, marks

    def send(self, value: Any) -> Any:
        return self._step(self._inner.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._inner.throw, *error)

    def _step(self, resume: Callable[..., Any], *arguments: Any) -> Any:
        self._marks.begin(self._number)
        try:
            return resume(*arguments)
        finally:
            self._marks.end()

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._inner.__await__())
