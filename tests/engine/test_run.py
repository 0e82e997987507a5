import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from msgspec import structs
from tests.engine.made import Breaking, broken, calls, job, model, resources, right

from evalwright.engine.journal import Journal
from evalwright.engine.run import Resources, attempt, run, solve_key_of
from evalwright.engine.stop import Stop
from evalwright.errors import Stopped
from evalwright.plan.plan import Job
from evalwright.ports import Case, Solver
from evalwright.scorers.record import RecordScorer
from evalwright.solvers.record import RecordSolver
from evalwright.store.memory import MemoryStore
from evalwright.types import Outcome, Request, Run, Sample, Score, Trace


class Kept:
    """Where a journal writes: keeps outcomes, until so many are there; `enough` are waited for."""

    def __init__(self, *, most: int | None = None, enough: int = 0) -> None:
        self.outcomes: list[Outcome] = []
        self.are_enough = asyncio.Event()
        self._most, self._enough = most, enough

    def write(self, outcomes: Sequence[Outcome]) -> None:
        if self._most is not None and len(self.outcomes) + len(outcomes) > self._most:
            raise OSError("no space left on device")
        self.outcomes.extend(outcomes)

    def on_commit(self, outcomes: Sequence[Outcome]) -> None:
        del outcomes
        if len(self.outcomes) >= self._enough:
            self.are_enough.set()


async def carried_out(
    jobs: Iterator[Job] | list[Job],
    who: Resources,
    kept: Kept,
    *,
    workers: int = 3,
    stop: Stop | None = None,
) -> None:
    journal = Journal(kept.write, on_commit=kept.on_commit)
    await run(jobs, who, journal, workers=workers, stop=stop)


def outcomes_of(
    jobs: list[Job], who: Resources, *, workers: int = 3, stop: Stop | None = None
) -> list[Outcome]:
    kept = Kept()
    asyncio.run(carried_out(jobs, who, kept, workers=workers, stop=stop))
    return kept.outcomes


def attempted(what: Job, who: Resources) -> Outcome:
    return asyncio.run(attempt(what, who))


class Waiting:
    """A solver that waits, and knows how many did so at once."""

    name = "waiting"
    version = 1

    def __init__(self) -> None:
        self.now = self.most = 0

    def describe_inputs(self, sample: Sample) -> str:
        return sample.id

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        del sample
        return trace

    async def solve(self, case: Case) -> Trace:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(1 + len(case.sample.id) % 3):
                await asyncio.sleep(0.001)
        finally:
            self.now -= 1
        return Trace(input="", output="4", post_processed="4")


class Broken(RecordScorer):
    """A scorer that judges nothing."""

    def reuse(self, score: Score) -> Score:
        return score

    async def score(self, case: Case) -> Score:
        raise KeyError(case.sample.id)


class Wanting(RecordScorer):
    """A scorer that wants more than a stored score has."""

    def reuse(self, score: Score) -> None:
        del score

    async def score(self, case: Case) -> Score:
        before = case.known.values if case.known else {}
        return Score(values={**before, "more": 1.0})


class Mended(ValueError):
    """An exception that knows what to do next."""

    hint = "add a target"


class Forgetful:
    """A memory that breaks when it is asked for a trace, or for a score."""

    def __init__(self, *, of: str) -> None:
        self._of = of

    def trace(self, solve_key: str, task: str = "") -> Trace | None:
        del solve_key, task
        if self._of == "trace":
            raise OSError("the disk is gone")
        return None

    def score(self, score_key: str, task: str = "") -> Score | None:
        del score_key, task
        raise OSError("the disk is gone")


def remembering(*outcomes: Outcome) -> MemoryStore:
    store = MemoryStore()
    store.begin(Run(id="earlier", created="", updated="", status="finished", plan_key=""))
    store.append("earlier", outcomes)
    return store


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_never_more_than_so_many_at_once_and_no_fewer(workers: int) -> None:
    solver = Waiting()

    found = outcomes_of(
        [job(f"t{n}") for n in range(50)], resources(solver=solver), workers=workers
    )

    assert solver.most == workers
    assert len(found) == 50


def test_more_workers_than_jobs_is_fine() -> None:
    assert len(outcomes_of([job("a")], resources(), workers=50)) == 1
    assert outcomes_of([], resources(), workers=50) == []


def test_jobs_are_taken_one_at_a_time_and_not_before_the_last_was_stored() -> None:
    kept = Kept()
    ahead: list[int] = []

    def jobs() -> Iterator[Job]:
        for n in range(40):
            ahead.append(n + 1 - len(kept.outcomes))
            yield job(f"t{n}")

    asyncio.run(carried_out(jobs(), resources(solver=Waiting()), kept))

    assert len(kept.outcomes) == 40
    assert max(ahead) <= 3


def test_every_job_is_attempted_once() -> None:
    names = [f"t{n}" for n in range(50)]

    found = outcomes_of([job(name) for name in names], resources(solver=Waiting()))

    assert sorted(one.sample_id for one in found) == sorted(names)


def test_an_outcome_says_whose_it_is_and_carries_trace_and_scores() -> None:
    found = outcomes_of([job("a", trial=2, ordinal=7)], resources())[0]

    assert (found.task, found.model, found.sample_id, found.trial, found.group) == (
        *("tasks", "m", "a", 2, "arithmetic"),
    )
    assert found.ordinal == 7
    assert found.trace is not None
    assert found.trace.output == "4"
    assert found.scores["record"].values == {"score": 1.0}
    assert found.failure is None
    assert found.solve_key
    assert found.score_keys.keys() == {"record"}


def test_a_failing_model_is_a_failure_of_the_solver_and_never_a_score() -> None:
    found = outcomes_of([job("a")], resources(broken))[0]

    assert found.failure is not None
    assert (found.failure.stage, found.failure.type) == ("solver", "ConnectionError")
    assert found.failure.message == "no answer to a"
    assert found.trace is None
    assert (found.scores, found.score_keys) == ({}, {})


def test_a_failing_scorer_is_a_failure_that_keeps_the_answer() -> None:
    found = outcomes_of([job("a")], resources(scorers={"record": Broken()}))[0]

    assert found.failure is not None
    assert (found.failure.stage, found.failure.type, found.failure.message) == (
        *("score", "KeyError", "'a'"),
    )
    assert found.trace is not None
    assert found.trace.output == "4"
    assert found.scores == {}


def test_a_scorer_that_fails_takes_no_other_with_it_and_is_named() -> None:
    scorers = {"broken": Broken(), "record": RecordScorer()}

    found = outcomes_of([job("a")], resources(scorers=scorers))[0]

    assert found.scores.keys() == found.score_keys.keys() == {"record"}
    assert found.failure is not None
    assert found.failure.message == "`broken`: 'a'"


def test_a_failure_keeps_the_hint_of_its_cause() -> None:
    def mendable(request: Request) -> str:
        raise Mended(request.sample.id)

    found = outcomes_of([job("a")], resources(mendable))[0]

    assert found.failure is not None
    assert found.failure.hint == "add a target"


def test_a_failure_without_words_says_its_type() -> None:
    def silent(request: Request) -> str:
        del request
        raise TimeoutError

    found = outcomes_of([job("a")], resources(silent))[0]

    assert found.failure is not None
    assert found.failure.message == "TimeoutError"


def test_one_failing_sample_does_not_stop_the_others() -> None:
    def sometimes(request: Request) -> str:
        return broken(request) if request.sample.id == "t3" else "4"

    found = outcomes_of([job(f"t{n}") for n in range(10)], resources(sometimes))

    assert [one.sample_id for one in found if one.failure] == ["t3"]
    assert sum(one.score or 0 for one in found) == 9


@pytest.mark.parametrize("solver", [RecordSolver(), Waiting()])
def test_a_journal_that_breaks_stops_the_run_with_its_own_exception(solver: Solver) -> None:
    kept = Kept(most=4)
    taken: list[int] = []

    def jobs() -> Iterator[Job]:
        for n in range(1000):
            taken.append(n)
            yield job(f"t{n}")

    with pytest.raises(OSError, match="no space left"):
        asyncio.run(carried_out(jobs(), resources(solver=solver), kept))

    assert len(kept.outcomes) <= 4
    assert len(taken) <= 4 + 3, "nothing is paid for that cannot be kept"


def test_a_stream_of_jobs_that_breaks_stops_the_run_and_keeps_what_has_landed() -> None:
    kept = Kept()

    def jobs() -> Iterator[Job]:
        yield job("a")
        raise OSError("the file is truncated")

    with pytest.raises(OSError, match="the file is truncated"):
        asyncio.run(carried_out(jobs(), resources(), kept))

    assert [one.sample_id for one in kept.outcomes] == ["a"]


def test_a_job_for_a_model_that_is_not_there_stops_the_run() -> None:
    with pytest.raises(KeyError, match="stranger"):
        attempted(job("a", model="stranger"), resources())


@pytest.mark.parametrize("of", ["trace", "score"])
def test_a_memory_that_breaks_stops_the_run_and_is_no_failure_of_a_sample(of: str) -> None:
    with pytest.raises(OSError, match="the disk is gone"):
        outcomes_of([job("a")], resources(memory=Forgetful(of=of)))


@pytest.mark.parametrize(
    "solver",
    [
        pytest.param(Waiting(), id="while a model is waited for"),
        pytest.param(RecordSolver(), id="while no model ever waits"),
    ],
)
def test_a_run_that_is_cancelled_keeps_what_has_landed(solver: Solver) -> None:
    kept = Kept(enough=20)
    who = resources(solver=solver)

    async def cancelled() -> None:
        jobs = (job(f"t{n}") for n in range(1_000_000))
        task = asyncio.ensure_future(carried_out(jobs, who, kept))
        await kept.are_enough.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert not any(one.failure for one in kept.outcomes)
    assert set(calls(who)) <= {one.sample_id for one in kept.outcomes}


def test_cancellation_is_no_failure_of_a_sample() -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(attempt(job("a"), resources(solver=Waiting())))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_a_wish_to_stop_ends_the_run_when_those_in_flight_have_landed() -> None:
    stop = Stop()

    def wish(request: Request) -> str:
        if request.sample.id == "t5":
            stop.request("enough")
        return "4"

    who = resources(wish)
    found = outcomes_of([job(f"t{n}") for n in range(100)], who, workers=3, stop=stop)

    assert sorted(one.sample_id for one in found) == sorted(calls(who))
    assert len(found) <= 6 + 2, "no new job is taken after it"


def test_a_spent_budget_stops_the_run_and_is_no_failure_of_a_sample() -> None:
    stop = Stop()

    def dear(request: Request) -> str:
        if request.sample.id >= "t4":
            raise Stopped("the money is gone", hint="bring more")
        return "4"

    found = outcomes_of([job(f"t{n}") for n in range(10)], resources(dear), workers=1, stop=stop)

    assert [one.sample_id for one in found] == ["t0", "t1", "t2", "t3"]
    assert not any(one.failure for one in found)
    assert (stop.is_stopping, stop.reason, stop.hint) == (True, "the money is gone", "bring more")


def test_those_in_flight_are_given_up_at_the_second_interrupt() -> None:
    stop, kept = Stop(), Kept(enough=1)
    asked = asyncio.Event()

    class Stuck(Waiting):
        """Answers the first sample, and waits for ever at the others."""

        async def solve(self, case: Case) -> Trace:
            if case.sample.id != "t0":
                asked.set()
                await asyncio.Event().wait()
            return Trace(input="", output="4", post_processed="4")

    async def interrupted() -> None:
        jobs = [job(f"t{n}") for n in range(9)]
        who = resources(solver=Stuck())
        running = asyncio.ensure_future(carried_out(jobs, who, kept, workers=2, stop=stop))
        await asked.wait()
        await kept.are_enough.wait()
        stop.interrupt()
        await asyncio.sleep(0)
        assert not running.done(), "once is not enough"
        stop.interrupt()
        await running

    asyncio.run(interrupted())

    assert [one.sample_id for one in kept.outcomes] == ["t0"]
    assert stop.interrupted


def test_an_answer_that_is_remembered_is_not_asked_for_again() -> None:
    before = attempted(job("a"), resources())
    who = resources(broken, memory=remembering(before))

    found = attempted(job("a"), who)

    assert found == before
    assert calls(who) == []


def test_a_remembered_answer_is_post_processed_and_scored_as_the_record_says_now() -> None:
    before = attempted(job("a", targets=("4",)), resources(lambda _: " 4 \nok"))
    who = resources(broken, memory=remembering(before))

    found = attempted(job("a", targets=("4 ",), post_process="extract_first_line"), who)

    assert calls(who) == []
    assert before.trace is not None
    assert found.trace is not None
    assert before.trace.post_processed == " 4 \nok"
    assert (found.trace.output, found.trace.post_processed) == (" 4 \nok", "4")
    assert before.scores["record"].values == {"score": 0.0}
    assert found.scores["record"].values == {"score": 1.0}


def test_a_score_that_lacks_something_is_shown_to_the_scorer_that_makes_it_anew() -> None:
    before = attempted(job("a"), resources())
    wanting = {"record": Wanting()}

    first = attempted(job("a"), resources(scorers=wanting))
    again = attempted(job("a"), resources(memory=remembering(before), scorers=wanting))

    assert first.scores["record"].values == {"more": 1.0}
    assert again.scores["record"].values == {"score": 1.0, "more": 1.0}


def test_a_remembered_score_is_not_made_again() -> None:
    before = attempted(job("a"), resources())
    memory = remembering(before)

    same = attempted(job("a"), resources(memory=memory, scorers={"record": Broken()}))
    mended = attempted(
        job("a", targets=("5",)), resources(memory=memory, scorers={"record": Broken()})
    )

    assert same.scores == before.scores
    assert mended.failure is not None, "another target is another score"


def test_a_score_is_only_reused_for_the_answer_it_was_made_of() -> None:
    right_then = attempted(job("a"), resources(right))
    wrong_now = attempted(job("a"), resources(lambda _: "5", scorers={"record": Broken()}))
    memory = remembering(right_then, wrong_now)

    found = attempted(job("a"), resources(broken, memory=memory))

    assert found.trace is not None
    assert found.trace.output == "5", "the newest answer, which nobody has scored"
    assert found.scores["record"].values == {"score": 0.0}


def test_a_failed_sample_is_not_remembered() -> None:
    before = attempted(job("a"), resources(broken))
    who = resources(right, memory=remembering(before))

    found = attempted(job("a"), who)

    assert found.failure is None
    assert calls(who) == ["a"]


def test_an_answer_is_not_paid_for_again_because_its_postprocessor_broke() -> None:
    before = attempted(job("a"), resources(postprocessor=Breaking()))
    who = resources(broken, memory=remembering(before))

    found = attempted(job("a"), who)

    assert before.failure is not None
    assert found.failure is None
    assert calls(who) == []


class Constant(Waiting):
    """A solver that sends the same, whatever the row."""

    def describe_inputs(self, sample: Sample) -> str:
        del sample
        return "hello"


def row_job(**row: Any) -> Job:
    return structs.replace(job("a"), sample=Sample("a", row))


def test_the_row_is_in_the_key_where_the_model_looks_at_it() -> None:
    seeing, blind = (resources(solver=Constant(), by_sample=frozenset(who)) for who in (["m"], []))
    rows = [row_job(city="Rome"), row_job(city="Oslo")]

    assert len({solve_key_of(one, seeing) for one in rows}) == 2
    assert len({solve_key_of(one, blind) for one in rows}) == 1
    assert solve_key_of(row_job(a=1, b=2), seeing) == solve_key_of(row_job(b=2, a=1), seeing)


def test_the_row_is_in_the_key_where_another_model_of_the_solver_looks_at_it() -> None:
    class Two(Constant):
        model_keys = ("user",)

    models = {"m": model(right), "users": model(right)}
    seeing = resources(
        solver=Two(), other_models={"user": "users"}, models=models, by_sample=frozenset(["users"])
    )

    assert len({solve_key_of(row_job(city=city), seeing) for city in ("Rome", "Oslo")}) == 2


def test_the_key_of_a_record_is_the_same_whoever_answers() -> None:
    assert solve_key_of(job("a"), resources()) == solve_key_of(
        job("a"), resources(by_sample=frozenset(["m"]))
    )
