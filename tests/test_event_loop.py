import asyncio
import threading

import pytest

from evalwright.event_loop import run_async


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
