import asyncio
import os
import signal
import threading

import pytest

from evalwright.event_loop import run_async, run_in_thread


async def thread() -> int:
    await asyncio.sleep(0)
    return threading.get_ident()


async def broken() -> int:
    await asyncio.sleep(0)
    raise KeyError("no")


def test_without_a_loop_work_is_done_here() -> None:
    assert run_async(thread()) == threading.get_ident()


def test_inside_a_running_loop_it_is_done_beside_it() -> None:
    async def notebook() -> int:
        return run_async(thread())

    assert asyncio.run(notebook()) != threading.get_ident()


def test_what_is_raised_is_raised_in_both() -> None:
    async def notebook() -> int:
        return run_async(broken())

    with pytest.raises(KeyError):
        run_async(broken())
    with pytest.raises(KeyError):
        asyncio.run(notebook())


def test_cancelling_a_thread_cancels_its_work_and_lets_it_close_what_it_opened() -> None:
    began, events = threading.Event(), list[str]()

    async def wait_forever() -> None:
        began.set()
        await asyncio.sleep(3600)

    async def close() -> None:
        await asyncio.sleep(0)
        events.append("closed")

    def work() -> None:
        try:
            run_async(wait_forever())
        finally:
            run_async(close())

    async def cancel() -> None:
        task = asyncio.create_task(run_in_thread(work))
        await asyncio.to_thread(began.wait)
        task.cancel()
        await asyncio.wait([task])
        events.append(f"cancelled: {task.cancelled()}")

    asyncio.run(cancel())

    assert events == ["closed", "cancelled: True"]


def test_an_interrupt_ends_work_beside_a_running_loop() -> None:
    async def wait_forever() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(3600)

    async def notebook() -> None:
        run_async(wait_forever())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(notebook())
