"""Asynchronous work for callers that are not: whether a loop is running here already or not."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def complete(work: Coroutine[Any, Any, Result]) -> Result:
    """What the work returns, or raises."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _complete_beside(work)


def _complete_beside(work: Coroutine[Any, Any, Result]) -> Result:
    """In a thread of its own: a notebook has a loop running already."""
    import asyncio
    from concurrent.futures import Future, ThreadPoolExecutor

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
