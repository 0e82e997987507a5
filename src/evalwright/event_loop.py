"""Run asynchronous work from synchronous code, and synchronous code without blocking a loop."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


class Cancellation:
    """Passes the cancellation of a task to the work that its thread runs.

    Only the first work is cancelled: what runs after it closes what it has opened.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_requested = self._is_delivered = False
        self._cancel: Callable[[], object] | None = None

    def request(self) -> None:
        """Cancel the work that runs now, or else the next."""
        with self._lock:
            self._is_requested = True
            self._deliver()

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run work so that a request cancels it."""
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        with self._lock:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            self._deliver()
        try:
            return await task
        finally:
            with self._lock:
                self._cancel = None

    def _deliver(self) -> None:
        if self._is_requested and not self._is_delivered and self._cancel is not None:
            self._is_delivered = True
            self._cancel()


_cancellation: ContextVar[Cancellation | None] = ContextVar("_cancellation", default=None)


async def run_in_thread(
    function: Callable[Parameters, Result],
    /,
    *arguments: Parameters.args,
    **keywords: Parameters.kwargs,
) -> Result:
    """Return what a blocking function returns, without blocking the loop.

    If this is cancelled, so is the work that the function passes to `run_async`. It is awaited.
    """
    cancellation = Cancellation()

    def call() -> Result:
        _cancellation.set(cancellation)
        return function(*arguments, **keywords)

    loop = asyncio.get_running_loop()
    done = loop.run_in_executor(None, copy_context().run, call)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        cancellation.request()
        await asyncio.wait([done])
        done.exception()  # nobody else reads it
        raise


def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """Return what the work returns, or raise what it raises."""
    if _has_running_loop():
        return _run_in_new_loop(work)
    cancellation = _cancellation.get()
    return asyncio.run(cancellation.run(work) if cancellation else work)


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_in_new_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Run it in a separate thread: a notebook has a running loop already."""
    cancellation = Cancellation()
    with ThreadPoolExecutor(max_workers=1) as pool, _raise_interrupts():
        done: Future[Result] = pool.submit(asyncio.run, cancellation.run(work))
        try:
            return done.result()
        except KeyboardInterrupt:  # the pool waits for the thread, and the thread must not go on
            cancellation.request()
            raise


@contextmanager
def _raise_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt` here: `asyncio.run` would cancel a task that waits."""
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before in {signal.SIG_IGN, signal.SIG_DFL, None}:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
