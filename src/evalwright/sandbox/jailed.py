"""`jailed`: untrusted code behind walls, judged by a process it cannot reach.

    worker       the engine's end of one zygote; a few of them, each with one candidate at a time
    inside/      what runs in the zygote: walls, candidate, evaluator
    selftest     which tier this machine has, by trying to break out of each
    verdict      what a report means

Holds and does not hold: `docs/concepts/sandbox.md`.
"""

import asyncio
import os
import queue
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from evalwright.processes import Ended
from evalwright.sandbox import packages as installed
from evalwright.sandbox import selftest, verdict
from evalwright.sandbox.worker import (
    NoWorker,
    SandboxSettings,
    SandboxWorker,
    Tier,
    Work,
    WorkerDied,
)
from evalwright.types import Execution, Program
from evalwright.vocabulary import MAX_OUTPUT_BYTES

# A worker may die of what lies outside: once is chance.
_ATTEMPTS = 2


class Jailed:
    """Judge programs in jailed processes, one a worker at once: deadlines are wall-clock."""

    def __init__(
        self,
        *,
        tier: Tier | None = None,
        workers: int | None = None,
        in_process_targets: bool = False,
        packages: Sequence[str] = (),
        python: str | None = None,
    ) -> None:
        """Find the best tier that holds, or try `tier` alone; `NoTier` if none does."""
        locations = installed.locate(packages)
        self._settings, first = selftest.choose(
            tier, in_process=in_process_targets, packages=locations, python=python
        )
        self.tier: str = self._settings.tier
        self.verified = not in_process_targets
        count = workers or os.cpu_count() or 1
        self._pool = _Pool(self._settings, first, count)
        # Threads of its own: a program waits for its turn here, before its clock starts.
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="sandbox")
        self._end = weakref.finalize(self, self._pool.close)

    async def judge(self, program: Program) -> Execution:
        """Run the candidate and its targets. Raise ValueError for a target that does not compile.

        ChildProcessError, when no process could be had for it: nothing was judged.
        """
        if not program.targets:
            raise ValueError("a program without targets cannot be judged")
        nonce = os.urandom(16).hex()
        work = Work(
            job={"nonce": nonce, "source": program.source, "targets": program.targets},
            timeout_s=program.timeout_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
            max_report_bytes=verdict.max_report_bytes(program),
        )
        stop = threading.Event()
        thread = self._threads.submit(self._pool.run, work, stop)
        ended = asyncio.wrap_future(thread)
        try:
            return verdict.judge_report(program, await asyncio.shield(ended), nonce)
        except WorkerDied as error:
            return Execution(
                outcome="error",
                targets=(False,) * len(program.targets),
                detail=f"its worker died twice: {error}",
            )
        except asyncio.CancelledError:
            stop.set()
            if not thread.cancel():  # its turn had come
                await asyncio.wait([ended])
            raise

    async def close(self) -> None:
        """End the workers."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._end()

    @property
    def processes(self) -> list[int]:
        """The process of each worker that runs; what it runs descends from it."""
        return self._pool.processes


class _Pool:
    """Workers that wait for work. They are started when first needed, and replaced when dead."""

    def __init__(self, settings: SandboxSettings, first: SandboxWorker, count: int) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._all = {first}
        # The last one back is the next one out: its memory is warm.
        self._idle: queue.LifoQueue[SandboxWorker | None] = queue.LifoQueue()
        for worker in (*[None] * (count - 1), first):
            self._idle.put(worker)

    @property
    def processes(self) -> list[int]:
        return [worker.pid for worker in self._all]

    def run(self, work: Work, stop: threading.Event) -> Ended:
        worker = self._idle.get()
        try:
            for attempt in range(1, _ATTEMPTS + 1):
                worker = worker or self._start()
                try:
                    return worker.run(work, stop)
                except WorkerDied:
                    self._bury(worker)
                    worker = None
                    if attempt == _ATTEMPTS:
                        raise
            raise AssertionError("unreachable")
        finally:
            self._idle.put(worker)

    def _start(self) -> SandboxWorker:
        try:
            worker = SandboxWorker(self._settings)
        except NoWorker as error:
            raise ChildProcessError(f"no worker could be started: {error}") from None
        with self._lock:
            self._all.add(worker)
        return worker

    def _bury(self, worker: SandboxWorker) -> None:
        with self._lock:
            self._all.discard(worker)
        worker.close()

    def close(self) -> None:
        with self._lock:
            workers, self._all = self._all, set()
        for worker in workers:
            with suppress(OSError):
                worker.close()
