from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.made import job

from evalwright.engine.resume import FinishedJobs
from evalwright.plan.plan import Job

Row = tuple[str, str, int, int, bool]


def row(ordinal: int, *, model: str = "m", trial: int = 0, failed: bool = False) -> Row:
    return "tasks", model, ordinal, trial, failed


def jobs(count: int = 4) -> Iterator[Job]:
    for ordinal in range(count):
        for trial in range(2):
            for model in ("m", "n"):
                yield job(f"t{ordinal}", ordinal=ordinal, trial=trial, model=model)


def named(what: Job) -> str:
    return f"{what.ordinal}{what.model}{what.trial}"


def test_what_is_done_is_not_left_and_the_rest_keeps_its_order() -> None:
    done = FinishedJobs([row(2), row(0, model="n", trial=1)])

    left = [named(one) for one in done.remaining_jobs(jobs(3))]

    assert left == ["0m0", "0n0", "0m1", "1m0", "1n0", "1m1", "1n1", "2n0", "2m1", "2n1"]
    assert done.count == 2


def test_with_nothing_done_everything_is_left() -> None:
    done = FinishedJobs([])

    assert list(done.remaining_jobs(jobs())) == list(jobs())
    assert done.count == 0


@pytest.mark.parametrize(
    ("retry", "left", "count"),
    [
        pytest.param(False, ["2"], 2, id="a failure is an outcome"),
        pytest.param(True, ["1", "2"], 1, id="unless it is to be tried again"),
    ],
)
def test_failed_samples(*, retry: bool, left: list[str], count: int) -> None:
    done = FinishedJobs([row(0), row(1, failed=True)], retry_failed=retry)

    found = [
        str(one.ordinal)
        for one in done.remaining_jobs(jobs(3))
        if (one.model, one.trial) == ("m", 0)
    ]

    assert found == left
    assert done.count == count


def test_a_job_that_is_there_twice_is_done_once() -> None:
    assert FinishedJobs([row(3), row(3)]).count == 1


def test_another_task_of_the_same_place_is_not_done() -> None:
    done = FinishedJobs([("others", "m", 0, 0, False)])

    assert len(list(done.remaining_jobs(jobs()))) == len(list(jobs()))


def test_jobs_are_passed_on_as_they_are_asked_for() -> None:
    left = FinishedJobs([row(0)]).remaining_jobs(iter_then_break())

    assert named(next(left)) == "0n0"


def iter_then_break() -> Iterator[Job]:
    yield from list(jobs(1))[:2]
    raise AssertionError("nobody has asked for this one")


@given(st.sets(st.tuples(st.integers(0, 5), st.sampled_from("mn"), st.integers(0, 1))))
def test_left_and_done_are_all_and_share_nothing(marked: set[tuple[int, str, int]]) -> None:
    done = FinishedJobs(row(ordinal, model=model, trial=trial) for ordinal, model, trial in marked)

    left = [(one.ordinal, one.model, one.trial) for one in done.remaining_jobs(jobs(6))]

    everything = [(one.ordinal, one.model, one.trial) for one in jobs(6)]
    assert left == [one for one in everything if one not in marked]
    assert done.count == len(marked)


def test_a_mark_is_a_byte() -> None:
    done = FinishedJobs(row(ordinal) for ordinal in range(100_000))

    assert sum(map(len, done._marks.values())) == 100_000
