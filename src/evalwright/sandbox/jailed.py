"""`jailed`: untrusted code in a jail, judged by a process that it cannot reach.

Holds and does not hold: `docs/concepts/sandbox.md`. Extra packages are named as `import` does, and
shown one by one: what a package imports itself must be named too. None is imported to find it.
"""

import os
import queue
import re
import sys
import threading
import weakref
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import metadata
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from evalwright.errors import UsageError
from evalwright.ports import Unverified
from evalwright.processes import run_in_thread
from evalwright.sandbox import tiers, verdict
from evalwright.sandbox.turns import RunTurns, Turns
from evalwright.sandbox.worker import (
    NoWorker,
    SandboxSettings,
    SandboxWorker,
    Tier,
    Verdicts,
    WorkerDied,
)
from evalwright.types import Execution, Program

# A worker may die of what lies outside: once is chance.
_ATTEMPTS = 2
# While a program runs in one worker, another one prepares a jail or removes it.
_WORKERS_PER_PROGRAM = 2


class Jailed:
    """Judges programs in jailed processes, so many at a time: deadlines are wall-clock."""

    def __init__(
        self,
        *,
        tier: Tier | None = None,
        workers: int | None = None,
        verdicts: Verdicts = "both",
        packages: Sequence[str] = (),
        python: str | None = None,
        only_verified: bool = False,
    ) -> None:
        """Find the best tier that holds, or try `tier` alone; `NoTier` if none does.

        `workers` is the number of programs that run at once, one per processor by default.
        """
        self.only_verified = only_verified
        locations = locate_packages(packages)
        self.packages: Collection[str] = tuple(locations)
        self._settings, first = tiers.choose(
            tier, verdicts=verdicts, packages=locations, python=python
        )
        self.tier: str = self._settings.tier
        self.verified = verdicts != "plain"
        count = workers or os.cpu_count() or 1
        self._pool = _Pool(self._settings, first, count)
        # Its own threads: a program waits here for its turn, before its clock starts.
        self._threads = ThreadPoolExecutor(
            count * _WORKERS_PER_PROGRAM, thread_name_prefix="sandbox"
        )
        self._end = weakref.finalize(self, self._pool.close)

    async def judge(self, program: Program) -> Execution:
        """Run the candidate and its targets. Raise ValueError for a target that does not compile.

        Raise ChildProcessError when no process could be started for it: nothing was judged. Raise
        `Unverified` where only verified verdicts are wanted.
        """
        if not program.targets:
            raise ValueError("a program without targets cannot be judged")
        stop = threading.Event()
        judge = partial(self._pool.judge, program, stop)
        try:
            execution = await run_in_thread(self._threads, judge, stop.set)
        except WorkerDied as error:
            return Execution(
                outcome="error",
                targets=(False,) * len(program.targets),
                detail=f"its worker died twice: {error}",
            )
        if self.only_verified and any(execution.targets) and not execution.verified:
            raise Unverified(f"not verified: {execution.reason}")
        return execution

    async def close(self) -> None:
        """End the workers."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._end()

    @property
    def processes(self) -> list[int]:
        """The process of each worker; candidates descend from it."""
        return [worker.process.pid for worker in self._pool.workers]


class _Pool:
    """Workers, started when first needed and replaced when dead."""

    def __init__(self, settings: SandboxSettings, first: SandboxWorker, count: int) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._turns = Turns()
        self._run_turns = RunTurns(count)
        self.workers = {first}
        # The last one returned is the next one taken: its memory is warm.
        self._idle: queue.LifoQueue[SandboxWorker | None] = queue.LifoQueue()
        for worker in (*[None] * (count * _WORKERS_PER_PROGRAM - 1), first):
            self._idle.put(worker)

    def judge(self, program: Program, stop: threading.Event) -> Execution:
        """Judge a program; once more, alone, if it may have been starved."""
        with self._turns.take_shared_turn():
            execution, starved = self._judge_once(program, stop, is_repeated_if_starved=True)
        if not starved or stop.is_set():
            return execution
        with self._turns.take_alone(stop) as is_alone:
            if not is_alone:
                return execution
            execution, starved = self._judge_once(program, stop)
        return verdict.rest_on_wall_clock(execution) if starved else execution

    def _judge_once(
        self, program: Program, stop: threading.Event, *, is_repeated_if_starved: bool = False
    ) -> tuple[Execution, bool]:
        worker = self._idle.get()
        try:
            for attempt in range(1, _ATTEMPTS + 1):
                worker = worker or self._start()
                try:
                    return worker.judge(
                        program,
                        stop,
                        self._run_turns,
                        is_repeated_if_starved=is_repeated_if_starved,
                    )
                except WorkerDied:
                    self._remove(worker)
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
            self.workers.add(worker)
        return worker

    def _remove(self, worker: SandboxWorker) -> None:
        with self._lock:
            self.workers.discard(worker)
        worker.close()

    def close(self) -> None:
        with self._lock:
            workers, self.workers = self.workers, set()
        for worker in workers:
            with suppress(OSError):
                worker.close()


def locate_packages(names: Sequence[str]) -> dict[str, str]:
    """The directory or file of each package that is not of the standard library.

    Raise UsageError for all names at once that cannot be shown.
    """
    locations: dict[str, str] = {}
    problems: dict[str, str] = {}
    for name in names:
        if name in sys.stdlib_module_names:
            continue
        try:
            locations[name] = _locate_package(name)
        except UsageError as error:
            problems[error.message] = error.hint
    if problems:
        hints = dict.fromkeys(hint for hint in problems.values() if hint)
        raise UsageError("; ".join(problems), hint="; ".join(hints))
    return locations


def _locate_package(name: str) -> str:
    spec = _find_spec(name)
    if spec is None:
        raise _explain_missing(name)
    places = list(spec.submodule_search_locations or ())
    if not places and spec.has_location and spec.origin is not None:
        places = [spec.origin]
    if len(places) > 1:
        raise UsageError(
            f"package `{name}` is spread over {len(places)} directories: {', '.join(places)}",
            hint="only packages in one directory can be made available to programs",
        )
    if not places or not Path(places[0]).exists():
        raise UsageError(
            f"package `{name}` is neither a file nor a directory",
            hint="only packages that are installed unzipped can be made available to programs",
        )
    return str(Path(places[0]).absolute())


def _find_spec(name: str) -> ModuleSpec | None:
    if not name.isidentifier():  # a dot would import what stands before it
        return None
    try:
        return find_spec(name)
    except (ImportError, ValueError):  # no `__spec__`: something that is only in memory
        return None


def _explain_missing(name: str) -> UsageError:
    package, dot, _ = name.partition(".")
    if dot and _find_spec(package) is not None:
        return UsageError(
            f"`{name}` is part of a package", hint=f"name the whole package: `{package}`"
        )
    plain = _normalize(name)
    imported = sorted(
        top_level
        for top_level, distributions in metadata.packages_distributions().items()
        if top_level.isidentifier() and plain in map(_normalize, distributions)
    )
    if imported:
        listed = " or ".join(f"`{top_level}`" for top_level in imported)
        return UsageError(
            f"package `{name}` is imported under a different name",
            hint=f"name it as `import` does: {listed}",
        )
    return UsageError(
        f"package `{name}` is not installed",
        hint=f"install it for {sys.executable}, or remove the option",
    )


def _normalize(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()
