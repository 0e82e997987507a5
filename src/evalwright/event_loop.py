"""Run asynchronous work from synchronous code, whether or not an event loop is running already."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """Return what the work returns, or raise what it raises."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _run_in_thread(work)


def _run_in_thread(work: Coroutine[Any, Any, Result]) -> Result:
    """Run it in a separate thread: a notebook has a running loop already."""
    begun: Future[Callable[[], object]] = Future()

    async def cancellable() -> Result:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        begun.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    with ThreadPoolExecutor(max_workers=1) as pool:
        done = pool.submit(asyncio.run, cancellable())
        try:
            return done.result()
        except KeyboardInterrupt:  # the pool waits for the thread, and the thread must not go on
            begun.result()()
            raise
