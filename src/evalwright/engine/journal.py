"""Outcomes on their way to the store.

Workers hand outcomes over and wait. One writer takes all that is there, commits it in one
transaction, and only then do they take another job: what the death of the process costs is never
more than one call per worker, and a slow disk slows the workers down instead of filling the memory.

If writing fails, the run stops: an outcome that cannot be kept must not be paid for.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

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
