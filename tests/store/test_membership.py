"""Who may take which job of a run, if several processes work on it."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from evalwright.ports import JobId, Membership
from evalwright.store import membership as membership_module
from evalwright.store.membership import (
    LEASE_S,
    ProcessIdentity,
    SqliteMembership,
    identify_process,
    is_gone,
)
from evalwright.store.sqlite import SqliteStore
from evalwright.types import Outcome, Run, Trace, Usage

JOBS: list[JobId] = [("t", "m", ordinal, 0) for ordinal in range(4)]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as opened:
        opened.begin(Run(id="a", created="", updated="", status="running", plan_key="plan"))
        yield opened


@pytest.fixture
def other(store: SqliteStore, path: Path) -> Iterator[SqliteStore]:  # noqa: ARG001 - it exists first
    """The store, as another process has opened it."""
    with closing(SqliteStore(path)) as opened:
        yield opened


def outcome(job: JobId, cost: float = 0.5) -> Outcome:
    task, model, ordinal, trial = job
    usage = Usage(requests=1, prompt_tokens=2, completion_tokens=3, cost=cost)
    trace = Trace(input="", output="", post_processed="", usage=usage)
    return Outcome(task=task, model=model, sample_id="x", ordinal=ordinal, trial=trial, trace=trace)


def states(membership: Membership, jobs: list[JobId]) -> list[str]:
    return [claim.state for claim in membership.claim(jobs)]


def test_a_second_process_waits_until_the_first_claims_its_jobs(
    store: SqliteStore, other: SqliteStore
) -> None:
    first, second = store.join("a"), other.join("a")

    assert (first.is_shared, second.is_shared) == (False, True)
    assert first.has_others()
    assert not second.is_ready()
    first.share(JOBS[:2])
    assert second.is_ready()
    assert first.is_shared
    assert states(second, JOBS) == ["theirs", "theirs", "mine", "mine"]
    assert states(first, JOBS) == ["mine", "mine", "theirs", "theirs"]


def test_a_stored_outcome_is_done_for_the_others_with_its_usage(
    store: SqliteStore, other: SqliteStore
) -> None:
    store.append("a", [outcome(JOBS[3])])
    first, second = store.join("a"), other.join("a")
    first.share([])
    assert states(first, JOBS[:2]) == ["mine", "mine"]
    assert second.others_claim()

    store.append("a", [outcome(JOBS[0]), outcome(JOBS[1])])

    assert not second.others_claim()
    assert second.claim(JOBS[:1])[0].usage == Usage(1, 2, 3, 0.5)
    assert states(second, JOBS) == ["done", "done", "mine", "mine"], "the last was there before"
    assert first.count_earlier() == second.count_earlier() == 1


def test_what_a_process_gives_up_is_free(store: SqliteStore, other: SqliteStore) -> None:
    first, second = store.join("a"), other.join("a")
    first.share(JOBS)

    first.release()

    assert states(second, JOBS) == ["mine"] * 4
    assert first.has_others()
    second.leave()
    assert not first.has_others()
    assert states(first, JOBS) == ["mine"] * 4


def test_claims_of_one_run_say_nothing_of_another(store: SqliteStore, other: SqliteStore) -> None:
    store.begin(Run(id="b", created="", updated="", status="running", plan_key="other"))
    first, second = store.join("a"), other.join("b")

    first.share(JOBS)

    assert not second.is_shared
    assert states(second, JOBS) == ["mine"] * 4


CHILD = """
import sys
from evalwright.store.sqlite import SqliteStore
member = SqliteStore(sys.argv[1]).join("a")
member.share([("t", "m", 0, 0)])
print("joined", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("is_seen", [True, False])
def test_claims_of_a_killed_process_are_dropped_at_once(
    store: SqliteStore, path: Path, *, is_seen: bool
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == b"joined\n"
        membership = store.join("a") if is_seen else None
        if membership:
            assert states(membership, JOBS) == ["theirs", "mine", "mine", "mine"]
            assert membership.others_claim()
        child.send_signal(signal.SIGKILL)
        child.wait()

    membership = membership or store.join("a")
    assert not membership.others_claim()
    assert states(membership, JOBS) == ["mine"] * 4
    assert membership.is_shared is is_seen


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Callable[[SqliteStore], SqliteMembership]:
    """Join as a process in another container, of which nobody here knows whether it lives."""

    def join(store: SqliteStore) -> SqliteMembership:
        there = structs.replace(identify_process(), place="another container")
        with monkeypatch.context() as patch:
            patch.setattr(membership_module, "identify_process", lambda: there)
            return store.join("a")

    return join


def join(store: SqliteStore, clock: Clock) -> SqliteMembership:
    return SqliteMembership(
        store._writer, store._reader, 1, on_share=store._shared.add, clock=clock
    )


def watch(membership: SqliteMembership, clock: Clock, seconds: float) -> bool:
    """Look each second; whether another process has claims at the end."""
    for _ in range(int(seconds)):
        clock.now += 1
        membership.others_claim()
    return membership.others_claim()


def test_claims_of_a_process_elsewhere_are_dropped_after_the_lease(
    store: SqliteStore, other: SqliteStore, elsewhere: Callable[[SqliteStore], SqliteMembership]
) -> None:
    clock = Clock()
    elsewhere(other).share(JOBS[:1])
    membership = join(store, clock)

    assert watch(membership, clock, LEASE_S - 1)
    assert not watch(membership, clock, 3)
    assert states(membership, JOBS) == ["mine"] * 4


def test_a_process_that_shows_that_it_lives_keeps_its_claims(
    store: SqliteStore, other: SqliteStore, elsewhere: Callable[[SqliteStore], SqliteMembership]
) -> None:
    clock = Clock()
    theirs = elsewhere(other)
    theirs.share(JOBS[:1])
    membership = join(store, clock)

    for _ in range(4):
        assert watch(membership, clock, LEASE_S - 10)
        theirs._beaten -= 1000.0
        theirs.renew(JOBS[:1])


def test_time_in_which_nobody_could_look_does_not_count(
    store: SqliteStore, other: SqliteStore, elsewhere: Callable[[SqliteStore], SqliteMembership]
) -> None:
    """After a suspend, or a minute without CPU, both processes have lost the same time."""
    clock = Clock()
    elsewhere(other).share(JOBS[:1])
    membership = join(store, clock)
    watch(membership, clock, 5)

    clock.now += 100 * LEASE_S

    assert membership.others_claim()
    assert watch(membership, clock, 5)


def test_a_process_that_was_given_up_joins_again_with_its_jobs(
    store: SqliteStore, other: SqliteStore, elsewhere: Callable[[SqliteStore], SqliteMembership]
) -> None:
    clock = Clock()
    theirs = elsewhere(other)
    theirs.share(JOBS[:2])
    membership = join(store, clock)
    assert not watch(membership, clock, LEASE_S + 3)
    assert states(membership, JOBS[:1]) == ["mine"]

    theirs._beaten -= 1000.0
    theirs.renew(JOBS[:2])

    assert states(membership, JOBS) == ["mine", "theirs", "mine", "mine"]


def test_a_process_that_never_answers_is_given_up_too(
    store: SqliteStore, other: SqliteStore, elsewhere: Callable[[SqliteStore], SqliteMembership]
) -> None:
    clock = Clock()
    elsewhere(other)
    membership = join(store, clock)
    assert not membership.is_ready()

    watch(membership, clock, LEASE_S + 3)

    assert membership.is_ready()


def test_which_process_is_gone() -> None:
    me = identify_process()
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        child.wait()

    assert not is_gone(me)
    assert is_gone(structs.replace(me, pid=child.pid))
    assert is_gone(structs.replace(me, pid=child.pid, started=""))
    assert not is_gone(structs.replace(me, started=""))
    assert not is_gone(ProcessIdentity("elsewhere", child.pid, "1"))
    if me.started:
        assert is_gone(structs.replace(me, started="1")), "the id was given to another process"


def test_what_deleted_runs_leave_is_tidied_up(store: SqliteStore) -> None:
    store.join("a").share(JOBS)
    store.delete("a")

    store.gc()

    for table in ("owners", "claims"):
        assert store._reader.execute(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608
