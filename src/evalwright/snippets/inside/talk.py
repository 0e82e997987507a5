"""One call that waits: run, asked for, answered, and ended when its time is over."""

import asyncio
import threading
from collections.abc import Awaitable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import count
from typing import Any, Protocol

from .channel import Streams
from .clock import Clock
from .failed import Failed, NoAnswer
from .functions import Function
from .marks import Marks

here = threading.local()
"""`here.slot`: where a thread of ours leaves its marks."""


class Desk(Protocol):
    """Who keeps the calls."""

    loop: asyncio.AbstractEventLoop
    marks: Marks
    streams: Streams
    threads: ThreadPoolExecutor

    def asks(self, number: int, ask: int, question: bytes) -> None:
        """A call has a question."""

    def ended(self, talk: "Talk", value: Any) -> None:
        """A call has its value, or `Failed`. What it says later is not heard."""

    def worn(self) -> None:
        """A thread is lost."""


class Talk:
    """One call."""

    def __init__(self, desk: Desk, number: int, function: Function, timeout_s: float) -> None:
        self.number, self.function = number, function
        self.clock = Clock(desk.loop, timeout_s, self._expire)
        self._desk = desk
        self._timeout_s = timeout_s
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[Any] | Future[Any]] = {}
        self._task: asyncio.Task[Any] | None = None
        self._over = False

    def begin(self, arguments: list[Any], *, apart: bool) -> None:
        """Run it in the loop; `apart`, in a thread."""
        if apart:
            self._desk.threads.submit(copy_context().run, self._in_thread, arguments)
        else:
            self.clock.go()
            self._start(self._call(arguments))

    def ask(self, question: bytes) -> "asyncio.Future[Any] | Future[Any]":
        """Ask the model, from any thread."""
        number, loop = next(self._numbers), self._desk.loop
        if _runs(loop):
            self._answers[number] = soon = loop.create_future()
            self._asked(number, question)
            return soon
        self._answers[number] = answer = _Answer(self._desk.marks, self.number)
        loop.call_soon_threadsafe(self._asked, number, question)
        return answer

    def answered(self, number: int, output: Any, failure: tuple[str, str] | None) -> None:
        """Have the question answered, or refused."""
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
        """End it, as far as that can be."""
        self._over = True
        self.clock.stop()
        if self._task is not None:
            self._task.cancel()
        for number in list(self._answers):
            self.answered(number, None, ("cancelled", "the call is over"))

    def _asked(self, number: int, question: bytes) -> None:
        self.clock.stop()
        if self._over:
            self.answered(number, None, ("cancelled", "the call is over"))
        else:
            self._desk.asks(self.number, number, question)

    async def _call(self, arguments: list[Any]) -> Any:
        self._desk.streams.restore()
        value = self.function.call(arguments)
        return await self.function.wait(value) if isinstance(value, Awaitable) else value

    def _start(self, work: Any) -> None:
        self._task = self._desk.loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _in_thread(self, arguments: list[Any]) -> None:
        marks, loop = self._desk.marks, self._desk.loop
        loop.call_soon_threadsafe(self.clock.go)
        marks.begin(self.number, here.slot)
        try:
            value = self.function.call(arguments)
        except Failed as failed:
            value = failed
        marks.end(here.slot)
        loop.call_soon_threadsafe(self._return, value)

    def _return(self, value: Any) -> None:
        if isinstance(value, Awaitable):
            self._start(self.function.wait(value))
        else:
            self._desk.ended(self, value)

    def _end(self, task: "asyncio.Task[Any]") -> None:
        if task.cancelled():
            text = f"{self.function.place}: CancelledError: it cancelled itself"
            self._desk.ended(self, Failed("CancelledError", text))
        else:
            self._desk.ended(self, task.exception() or task.result())

    def _expire(self) -> None:
        if self._task is None:
            self._desk.worn()
        text = f"{self.function.place}: ran longer than {self._timeout_s:g} s"
        hint = f"a call may run {self._timeout_s:g} s; the time that a model takes does not count"
        self._desk.ended(self, Failed("timeout", text, hint))


class _Answer(Future[Any]):
    """An answer to come. A thread that waits for it is at nothing."""

    def __init__(self, marks: Marks, number: int) -> None:
        super().__init__()
        self._marks, self._number = marks, number

    def result(self, timeout: float | None = None) -> Any:
        slot = getattr(here, "slot", None)
        if slot is None:
            return super().result(timeout)
        self._marks.end(slot)
        try:
            return super().result(timeout)
        finally:
            self._marks.begin(self._number, slot)


def _runs(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
