import asyncio
from collections.abc import Iterator, Sequence

import pytest
from tests.living import wait_until

from evalwright.engine.resume import FinishedJobs
from evalwright.errors import StoreError
from evalwright.plan.plan import Job
from evalwright.ports import JobClaim, JobId
from evalwright.session import sharing
from evalwright.session.sharing import SharedRun
from evalwright.store.memory import SoleMembership
from evalwright.types import NOTHING, Outcome, Sample, Usage


class ScriptedMembership(SoleMembership):
    """The part of a process in a run whose other processes do as they are told."""

    def __init__(self, *, is_shared: bool = False) -> None:
        super().__init__(0)
        self.is_shared = is_shared
        self.others = is_shared
        self.theirs: dict[int, JobClaim] = {}
        """Claims of others, by ordinal."""
        self.shared: list[list[JobId]] = []
        self.locked = 0
        """How many times the store is locked."""

    def has_others(self) -> bool:
        return self.others

    def share(self, jobs: Sequence[JobId]) -> None:
        self.shared.append(list(jobs))
        if self.locked:
            self.locked -= 1
            raise StoreError("locked")

    def claim(self, jobs: Sequence[JobId]) -> list[JobClaim]:
        return [self.theirs.get(job[2], JobClaim(state="mine")) for job in jobs]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "POLL_S", 0.005)


def job(ordinal: int) -> Job:
    return Job(task="t", model="m", sample=Sample(str(ordinal), {}), ordinal=ordinal)


def key(ordinal: int) -> JobId:
    return "t", "m", ordinal, 0


class Run:
    """A shared run of ten jobs, and what it has told."""

    def __init__(self, membership: ScriptedMembership) -> None:
        self.done = FinishedJobs([])
        self.told = 0
        self.used: list[Usage] = []
        self.shared = SharedRun(
            membership, self.done, batch=3, tell=self._tell, on_done=self.used.append
        )

    def _tell(self) -> None:
        self.told += 1

    def hand_out(self) -> Iterator[int]:
        jobs = self.done.remaining_jobs(job(ordinal) for ordinal in range(10))
        return (job.ordinal for job in self.shared.hand_out(jobs))

    def wait_for_others(self) -> bool:
        return asyncio.run(self.shared.wait_for_others(lambda: False))


def test_a_process_that_is_alone_claims_nothing() -> None:
    membership = ScriptedMembership()
    run = Run(membership)

    assert list(run.hand_out()) == list(range(10))

    assert not run.wait_for_others()
    run.shared.close()
    assert (membership.shared, run.told) == ([], 0)


def test_when_another_joins_jobs_in_flight_are_claimed_and_the_rest_one_by_one() -> None:
    membership = ScriptedMembership()
    run = Run(membership)
    jobs = run.hand_out()
    assert [next(jobs), next(jobs), next(jobs)] == [0, 1, 2]
    run.shared.note_stored_jobs([Outcome(task="t", model="m", sample_id="1", ordinal=1)])

    membership.theirs = {4: JobClaim(state="theirs")}
    membership.others = True
    wait_until(lambda: bool(membership.shared))

    assert membership.shared == [[key(0), key(2)]]
    assert list(jobs) == [3, 5, 6, 7, 8, 9]
    assert run.told == 1
    run.shared.close()


def test_a_store_that_is_locked_is_told_again() -> None:
    membership = ScriptedMembership()
    membership.locked = 2
    run = Run(membership)

    membership.others = True

    wait_until(lambda: len(membership.shared) == 3)
    run.shared.close()
    assert len(membership.shared) == 3, "and then no more"


def test_jobs_of_others_are_taken_over_if_they_come_to_nothing() -> None:
    membership = ScriptedMembership(is_shared=True)
    run = Run(membership)
    used = Usage(1, 2, 3, 0.5)
    membership.theirs = {
        2: JobClaim(state="theirs"),
        4: JobClaim(state="theirs"),
        6: JobClaim(state="done", usage=used),
    }
    assert list(run.hand_out()) == [0, 1, 3, 5, 7, 8, 9]
    assert run.used == [used]

    assert run.wait_for_others()
    membership.theirs = {2: JobClaim(state="done")}

    assert list(run.hand_out()) == [4]
    assert run.used == [used, NOTHING]
    assert not run.wait_for_others()
    run.shared.close()
