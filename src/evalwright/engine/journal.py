"""Outcomes on their way to the store, and the jobs that the store has outcomes of.

Workers hand outcomes over and wait. One writer takes all that is there, commits it in one
transaction, and only then do they take another job: what the death of the process costs is never
more than one call per worker, and a slow disk slows the workers down instead of filling the memory.

If writing fails, the run stops: an outcome that cannot be kept must not be paid for.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from evalwright.plan.plan import Job
from evalwright.types import Outcome


class Journal:
    """Workers `add`; one task runs `write_all` until `close` was called and nothing is waiting."""

    def __init__(
        self,
        write: Callable[[Sequence[Outcome]], None],
        *,
        on_commit: Callable[[Sequence[Outcome]], None] = lambda _: None,
    ) -> None:
        self._write = write
        self._committed = on_commit
        self._waiting: list[Outcome] = []
        self._stored = asyncio.Event()
        """Of all that is waiting: each batch has its own."""
        self._work = asyncio.Event()
        self._closed = False

    async def add(self, outcome: Outcome) -> None:
        """Hand over; returns when it is stored."""
        self._waiting.append(outcome)
        self._work.set()
        await self._stored.wait()

    def flush(self) -> None:
        """Write what is waiting, here and now: for a run that broke elsewhere."""
        batch, self._waiting = self._waiting, []
        if batch:
            self._write(batch)

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._work.set()

    async def write_all(self) -> None:
        """Commit what is waiting, as often as there is something, on a thread of its own."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal") as thread:
            while self._waiting or not self._closed:
                await self._work.wait()
                self._work.clear()
                batch, self._waiting = self._waiting, []
                stored, self._stored = self._stored, asyncio.Event()
                if batch:
                    # A cancelled writer must not take with it what no thread has begun to write.
                    await asyncio.shield(loop.run_in_executor(thread, self._write, batch))
                    self._committed(batch)
                stored.set()


class FinishedJobs:
    """Made from what the store says; `remaining_jobs` passes on the jobs that are not done."""

    def __init__(
        self, rows: Iterable[tuple[str, str, int, int, bool]], *, retry_failed: bool = False
    ) -> None:
        self._marks: dict[tuple[str, str, int], bytearray] = {}
        self.count = 0
        for task, model, ordinal, trial, failed in rows:
            if failed and retry_failed:
                continue
            marks = self._marks.setdefault((task, model, trial), bytearray())
            if ordinal >= len(marks):
                marks.extend(bytes(ordinal + 1 - len(marks)))
            self.count += not marks[ordinal]
            marks[ordinal] = 1

    def forget(self, task: str) -> int:
        """Do all jobs of a task again: what they were about has changed. How many that are."""
        gone = [self._marks.pop(key) for key in list(self._marks) if key[0] == task]
        forgotten = sum(sum(marks) for marks in gone)
        self.count -= forgotten
        return forgotten

    def remaining_jobs(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """In their order."""
        if not self._marks:
            yield from jobs
            return
        for job in jobs:
            marks = self._marks.get((job.task, job.model, job.trial), b"")
            if job.ordinal >= len(marks) or not marks[job.ordinal]:
                yield job
