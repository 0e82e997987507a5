"""Outcomes on their way to the store.

Workers hand over outcomes and wait. One writer takes all pending outcomes and commits them in one
transaction; only then do the workers take another job. So the death of the process never costs
more than one call per worker, and a slow disk slows the workers down instead of filling memory.

If writing fails, the run stops: no calls are paid for whose outcomes cannot be stored.
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
        """The future of the pending outcomes; each batch has its own."""
        self._work = asyncio.Event()
        self._closed = False

    async def add(self, outcome: Outcome) -> None:
        """Hand over an outcome; return when it is stored."""
        self._waiting.append(outcome)
        self._work.set()
        await self._stored.wait()

    def flush(self) -> None:
        """Write pending outcomes now: for a run that failed elsewhere."""
        batch, self._waiting = self._waiting, []
        if batch:
            self._write(batch)

    def close(self) -> None:
        """Signal that no more outcomes will come."""
        self._closed = True
        self._work.set()

    async def write_all(self) -> None:
        """Commit pending outcomes as they arrive, in a separate thread."""
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
