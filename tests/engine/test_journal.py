import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

import pytest
from tests.engine.made import outcome

import evalwright.engine.journal
from evalwright.engine.journal import Journal
from evalwright.types import Outcome


class Disk:
    """Keeps each write as a list of sample ids; the first one waits until it is let go."""

    def __init__(self, *, let_go: bool = True) -> None:
        self.writes: list[list[str]] = []
        self.begun = threading.Event()
        self.let_go = threading.Event()
        if let_go:
            self.let_go.set()

    def write(self, outcomes: Sequence[Outcome]) -> None:
        self.begun.set()
        assert self.let_go.wait(timeout=30)
        self.writes.append([one.sample_id for one in outcomes])


async def reached(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 30)


def full(outcomes: Sequence[Outcome]) -> None:
    raise OSError(f"no space left for {len(outcomes)}")


def test_an_outcome_is_written_before_put_returns_and_before_it_is_counted() -> None:
    disk = Disk()
    order: list[str] = []

    def write(outcomes: Sequence[Outcome]) -> None:
        disk.write(outcomes)
        order.append("written")

    async def work() -> None:
        journal = Journal(write, on_commit=lambda _: order.append("counted"))
        writing = asyncio.ensure_future(journal.write_all())
        await journal.add(outcome("a"))
        order.append("put")
        journal.close()
        await writing

    asyncio.run(work())

    assert order == ["written", "counted", "put"]


def test_all_that_is_waiting_is_one_write() -> None:
    disk = Disk(let_go=False)
    counted: list[int] = []

    async def work() -> None:
        journal = Journal(disk.write, on_commit=lambda batch: counted.append(len(batch)))
        writing = asyncio.ensure_future(journal.write_all())
        first = asyncio.ensure_future(journal.add(outcome("first")))
        await reached(disk.begun)
        rest = [asyncio.ensure_future(journal.add(outcome(f"t{n}"))) for n in range(9)]
        await asyncio.sleep(0)
        assert counted == [], "nothing is counted before it is written"
        disk.let_go.set()
        await asyncio.gather(first, *rest)
        journal.close()
        await writing

    asyncio.run(work())

    assert disk.writes == [["first"], [f"t{n}" for n in range(9)]]
    assert counted == [1, 9]


def test_no_more_waits_than_there_are_workers() -> None:
    disk = Disk(let_go=False)
    landed = 0

    async def work() -> None:
        nonlocal landed
        journal = Journal(disk.write)

        async def worker() -> None:
            nonlocal landed
            for n in range(10):
                landed += 1
                await journal.add(outcome(f"t{n}"))

        writing = asyncio.ensure_future(journal.write_all())
        workers = [asyncio.ensure_future(worker()) for _ in range(4)]
        await reached(disk.begun)
        for _ in range(100):
            await asyncio.sleep(0)
        assert landed == 4, "a slow disk slows the workers down"
        disk.let_go.set()
        await asyncio.gather(*workers)
        journal.close()
        await writing

    asyncio.run(work())

    assert sum(map(len, disk.writes)) == landed == 40


def test_a_write_that_fails_is_the_end_and_nothing_of_it_is_counted() -> None:
    counted: list[Outcome] = []

    async def work() -> None:
        journal = Journal(full, on_commit=counted.extend)
        writing = asyncio.ensure_future(journal.write_all())
        put = asyncio.ensure_future(journal.add(outcome("a")))
        try:
            await writing
        finally:
            assert not put.done(), "what is not stored is not handed over"
            put.cancel()

    with pytest.raises(OSError, match="no space left for 1"):
        asyncio.run(work())

    assert counted == []


def test_close_waits_for_what_was_put_before_it() -> None:
    disk = Disk()

    async def work() -> None:
        journal = Journal(disk.write)
        put = asyncio.ensure_future(journal.add(outcome("a")))
        await asyncio.sleep(0)
        journal.close()
        await journal.write_all()
        await put

    asyncio.run(work())

    assert disk.writes == [["a"]]


def test_a_journal_that_nothing_is_put_into_writes_nothing() -> None:
    disk = Disk()

    async def work() -> None:
        journal = Journal(disk.write)
        journal.close()
        await journal.write_all()
        journal.flush()

    asyncio.run(work())

    assert disk.writes == []


def test_flush_writes_what_is_still_waiting() -> None:
    disk = Disk()

    async def work() -> None:
        journal = Journal(disk.write)
        put = asyncio.ensure_future(journal.add(outcome("a")))
        await asyncio.sleep(0)
        put.cancel()
        journal.flush()
        journal.flush()

    asyncio.run(work())

    assert disk.writes == [["a"]]


class Late(Executor):
    """A thread that begins nothing before it is told to end."""

    def __init__(self, **_: Any) -> None:
        self._work: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._work.append((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - its signature
        assert wait
        assert not cancel_futures
        for future, work in self._work:
            if future.set_running_or_notify_cancel():
                future.set_result(work())


async def cancelled(disk: Disk, begun: Awaitable[object]) -> None:
    journal = Journal(disk.write)
    writing = asyncio.ensure_future(journal.write_all())
    put = asyncio.ensure_future(journal.add(outcome("a")))
    await begun
    writing.cancel()
    put.cancel()
    disk.let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    journal.flush()


def test_a_writer_that_is_cancelled_while_the_disk_writes_loses_nothing() -> None:
    disk = Disk(let_go=False)

    asyncio.run(cancelled(disk, reached(disk.begun)))

    assert disk.writes == [["a"]]


def test_a_writer_that_is_cancelled_before_the_disk_writes_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evalwright.engine.journal, "ThreadPoolExecutor", Late)
    disk = Disk()

    asyncio.run(cancelled(disk, asyncio.sleep(0.01)))

    assert disk.writes == [["a"]]
