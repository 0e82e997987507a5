import asyncio
from collections.abc import Callable, Iterator
from random import Random

import pytest

from evalwright.clients.scripted import Answer, Scripted
from evalwright.engine.run import Crew, attempt, run
from evalwright.plan.plan import Job
from evalwright.ports import Case, Solver
from evalwright.scorers.record import RecordScorer
from evalwright.solvers.record import RecordSolver
from evalwright.types import Outcome, Request, Sample, Score, TaskSpec, Trace


def job(name: str, *, model: str = "m", trial: int = 0) -> Job:
    task = TaskSpec(
        task_id=name,
        category="arithmetic",
        prompt=name,
        targets=("4",),
        metric_name="exact_match",
        post_process="none",
    )
    sample = Sample(name, task)
    return Job(task="tasks", model=model, sample=sample, trial=trial, group="arithmetic")


def model(script: Callable[[Request], str]) -> Scripted:
    def answer(request: Request, randomness: Random) -> Answer:
        del randomness
        return Answer(script(request), 0.5)

    return Scripted("test", answer, remember=True)


def right(request: Request) -> str:
    del request
    return "4"


def broken(request: Request) -> str:
    raise ConnectionError(f"no answer to {request.sample.id}")


def crew(script: Callable[[Request], str] = right, **changes: object) -> Crew:
    parts = {"solver": RecordSolver(), "scorers": {"record": RecordScorer()}, **changes}
    return Crew(models={"m": model(script)}, **parts)  # type: ignore[arg-type]


def outcomes_of(jobs: list[Job], who: Crew, *, workers: int = 3) -> list[Outcome]:
    journal: list[Outcome] = []
    asyncio.run(run(jobs, who, journal.append, workers=workers))
    return journal


class Waiting:
    """A solver that waits, and knows how many did so at once."""

    version = 1

    def __init__(self) -> None:
        self.now = self.most = 0

    async def solve(self, case: Case) -> Trace:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(1 + len(case.sample.id) % 3):
                await asyncio.sleep(0.001)
        finally:
            self.now -= 1
        return Trace(input="", output="4", post_processed="4")


class Broken:
    """A scorer that judges nothing."""

    version = 1

    async def score(self, case: Case) -> Score:
        raise KeyError(case.sample.id)


class Mended(ValueError):
    """An exception that knows what to do next."""

    hint = "add a target"


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_never_more_than_so_many_at_once_and_no_fewer(workers: int) -> None:
    solver = Waiting()

    found = outcomes_of([job(f"t{n}") for n in range(50)], crew(solver=solver), workers=workers)

    assert solver.most == workers
    assert len(found) == 50


def test_more_workers_than_jobs_is_fine() -> None:
    assert len(outcomes_of([job("a")], crew(), workers=50)) == 1
    assert outcomes_of([], crew(), workers=50) == []


def test_jobs_are_taken_one_at_a_time() -> None:
    taken: list[int] = []
    landed: list[Outcome] = []
    ahead: list[int] = []

    def jobs() -> Iterator[Job]:
        for n in range(40):
            taken.append(n)
            ahead.append(len(taken) - len(landed))
            yield job(f"t{n}")

    asyncio.run(run(jobs(), crew(solver=Waiting()), landed.append, workers=3))

    assert len(landed) == 40
    assert max(ahead) <= 3


def test_every_job_is_attempted_once() -> None:
    names = [f"t{n}" for n in range(50)]

    found = outcomes_of([job(name) for name in names], crew(solver=Waiting()))

    assert sorted(one.sample_id for one in found) == sorted(names)


def test_an_outcome_says_whose_it_is_and_carries_trace_and_scores() -> None:
    found = outcomes_of([job("a", trial=2)], crew())[0]

    assert (found.task, found.model, found.sample_id, found.trial, found.group) == (
        *("tasks", "m", "a", 2, "arithmetic"),
    )
    assert found.trace is not None
    assert found.trace.output == "4"
    assert found.scores["record"].values == {"score": 1.0}
    assert found.failure is None


def test_a_failing_model_is_a_failure_of_the_solver_and_never_a_score() -> None:
    found = outcomes_of([job("a")], crew(broken))[0]

    assert found.failure is not None
    assert (found.failure.stage, found.failure.type) == ("solver", "ConnectionError")
    assert found.failure.message == "no answer to a"
    assert found.trace is None
    assert found.scores == {}


def test_a_failing_scorer_is_a_failure_that_keeps_the_answer() -> None:
    found = outcomes_of([job("a")], crew(scorers={"record": Broken()}))[0]

    assert found.failure is not None
    assert (found.failure.stage, found.failure.type, found.failure.message) == (
        *("score", "KeyError", "'a'"),
    )
    assert found.trace is not None
    assert found.trace.output == "4"
    assert found.scores == {}


def test_if_one_scorer_fails_no_score_of_the_others_is_kept() -> None:
    scorers = {"record": RecordScorer(), "broken": Broken()}

    assert outcomes_of([job("a")], crew(scorers=scorers))[0].scores == {}


def test_a_failure_keeps_the_hint_of_its_cause() -> None:
    def mendable(request: Request) -> str:
        raise Mended(request.sample.id)

    found = outcomes_of([job("a")], crew(mendable))[0]

    assert found.failure is not None
    assert found.failure.hint == "add a target"


def test_a_failure_without_words_says_its_type() -> None:
    def silent(request: Request) -> str:
        del request
        raise TimeoutError

    found = outcomes_of([job("a")], crew(silent))[0]

    assert found.failure is not None
    assert found.failure.message == "TimeoutError"


def test_one_failing_sample_does_not_stop_the_others() -> None:
    def sometimes(request: Request) -> str:
        return broken(request) if request.sample.id == "t3" else "4"

    found = outcomes_of([job(f"t{n}") for n in range(10)], crew(sometimes))

    assert [one.sample_id for one in found if one.failure] == ["t3"]
    assert sum(one.scores["record"].values["score"] for one in found if not one.failure) == 9


@pytest.mark.parametrize("solver", [RecordSolver(), Waiting()])
def test_a_journal_that_breaks_stops_the_run_with_its_own_exception(solver: Solver) -> None:
    kept: list[Outcome] = []

    def journal(outcome: Outcome) -> None:
        if len(kept) == 4:
            raise OSError("no space left on device")
        kept.append(outcome)

    jobs = [job(f"t{n}") for n in range(1000)]
    with pytest.raises(OSError, match="no space left"):
        asyncio.run(run(jobs, crew(solver=solver), journal, workers=3))

    assert len(kept) == 4


def test_a_stream_of_jobs_that_breaks_stops_the_run_with_its_own_exception() -> None:
    kept: list[Outcome] = []

    def jobs() -> Iterator[Job]:
        yield job("a")
        raise OSError("the file was cut short")

    with pytest.raises(OSError, match="cut short"):
        asyncio.run(run(jobs(), crew(), kept.append, workers=3))

    assert len(kept) == 1


def test_a_job_for_a_model_that_is_not_there_stops_the_run() -> None:
    with pytest.raises(KeyError, match="stranger"):
        asyncio.run(attempt(job("a", model="stranger"), crew()))


@pytest.mark.parametrize(
    "solver",
    [
        pytest.param(Waiting(), id="while a model is waited for"),
        pytest.param(RecordSolver(), id="while no model ever waits"),
    ],
)
def test_a_run_can_be_cancelled(solver: Solver) -> None:
    landed: list[Outcome] = []

    async def cancelled() -> None:
        jobs = (job(f"t{n}") for n in range(1_000_000))
        task = asyncio.ensure_future(run(jobs, crew(solver=solver), landed.append, workers=3))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert 0 < len(landed) < 100_000
    assert not any(one.failure for one in landed)


def test_cancellation_is_no_failure_of_a_sample() -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(attempt(job("a"), crew(solver=Waiting())))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
