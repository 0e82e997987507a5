"""Share a run with other processes that were started with the same plan.

`SharedRun` hands out jobs. As long as this process is alone, it only notes which jobs are in
flight. Every `POLL_S`, a thread checks whether another process has joined the run; from then on,
jobs are claimed in the store, a batch per transaction. At the end, a process waits for the jobs
that others have claimed, and takes them over if those processes end without storing them.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice

from evalwright.engine.resume import FinishedJobs
from evalwright.errors import EvalwrightError
from evalwright.plan.plan import Job
from evalwright.ports import JobId, Membership
from evalwright.types import Outcome, Usage

POLL_S = 0.5
_LARGEST_BATCH = 64
_FINALIZING: JobId = ("", "", -1, 0)
"""Claimed by the process that finalizes: two of them would run the same snippets twice."""


class SharedRun:
    """The jobs of a run for this process, and none that another process has."""

    def __init__(
        self,
        membership: Membership,
        done: FinishedJobs,
        *,
        batch: int,
        tell: Callable[[], None],
        on_done: Callable[[Usage], None],
    ) -> None:
        """`tell` is called once if the run is shared; `on_done` per job that others have done."""
        self._membership, self._done = membership, done
        self._batch = min(batch, _LARGEST_BATCH)
        self._tell, self._on_done = tell, on_done
        self._has_told = self._has_skipped = False
        self._in_flight: dict[JobId, None] = {}
        self._is_shared = self._has_acknowledged = membership.is_shared
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="sharing", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the run."""
        self._ended.set()
        self._thread.join()
        with suppress(EvalwrightError):  # what had become of the store was the error of the run
            self._membership.leave()

    async def wait_until_ready(self, is_stopping: Callable[[], bool]) -> None:
        """Wait until every other process claims its jobs."""
        if self._is_shared:
            self._tell_once()
            await _sleep_while(lambda: not (is_stopping() or self._membership.is_ready()))

    def hand_out(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Yield the jobs that no other process has claimed or done."""
        jobs = iter(jobs)
        for job in jobs:
            key = (job.task, job.model, job.ordinal, job.trial)
            self._in_flight[key] = None  # first: `_share` reads it after it has changed the flag
            if self._is_shared:
                yield from self._hand_out_claimed_jobs(chain([job], jobs))
                return
            self._done.mark(*key)
            yield job

    def _hand_out_claimed_jobs(self, jobs: Iterator[Job]) -> Iterator[Job]:
        self._tell_once()
        while batch := list(islice(jobs, self._batch)):
            claims = self._membership.claim([_identify(job) for job in batch])
            for job, claim in zip(batch, claims, strict=True):
                if claim.state == "theirs":
                    self._has_skipped = True
                    continue
                key = _identify(job)
                self._done.mark(*key)
                if claim.state == "done":
                    self._on_done(claim.usage)
                    continue
                self._in_flight[key] = None
                yield job

    def note_stored_jobs(self, outcomes: Sequence[Outcome]) -> None:
        """Note that jobs are no longer in flight."""
        for outcome in outcomes:
            key = (outcome.task, outcome.model, outcome.ordinal, outcome.trial)
            self._in_flight.pop(key, None)

    async def wait_for_others(self, is_stopping: Callable[[], bool]) -> bool:
        """Wait until the jobs that others had claimed are done or free; whether there were any."""
        if self._is_shared:
            self._membership.release()
        if not self._has_skipped:
            return False
        self._has_skipped = False
        await _sleep_while(lambda: not is_stopping() and self._membership.others_claim())
        return not is_stopping()

    async def wait_for_turn(self, is_stopping: Callable[[], bool]) -> None:
        """Wait until no other process finalizes the run; `end_turn` lets others finalize."""
        while self._is_shared and not is_stopping():
            (claim,) = self._membership.claim([_FINALIZING])
            if claim.state == "mine":
                return
            self._membership.others_claim()  # drops the claim of a process that has ended
            await asyncio.sleep(POLL_S / 5)

    def end_turn(self) -> None:
        """Let other processes finalize."""
        if self._is_shared:
            self._membership.release()

    def has_others(self) -> bool:
        """Whether another process works on the run now."""
        return self._membership.has_others()

    def _tell_once(self) -> None:
        if not self._has_told:
            self._has_told = True
            self._tell()

    def _poll(self) -> None:
        while not self._ended.wait(POLL_S):
            with suppress(EvalwrightError):  # the next commit has the same error
                if self._has_acknowledged:
                    self._membership.renew(list(self._in_flight))
                elif self._is_shared or self._membership.has_others():
                    self._share()

    def _share(self) -> None:
        self._is_shared = True
        self._membership.share(list(self._in_flight))
        self._has_acknowledged = True  # not if the store was locked: then it is tried again


async def _sleep_while(holds: Callable[[], bool]) -> None:
    while holds():  # noqa: ASYNC110 - what another process does cannot be awaited
        await asyncio.sleep(POLL_S / 5)


def _identify(job: Job) -> JobId:
    return job.task, job.model, job.ordinal, job.trial
