import asyncio
from typing import Any

import pytest
from tests.engine.made import Breaking, job, resources

from evalwright.clients.stand_ins import PlaceholderModel
from evalwright.engine.run import attempt
from evalwright.engine.usage import UsageCounter, add_usage, split_usage
from evalwright.ports import Case
from evalwright.solvers.record import RecordSolver
from evalwright.types import Completion, Outcome, Request, Sample, Score, Trace, Usage


class Priced(PlaceholderModel):
    async def complete(self, request: Request) -> Completion:
        del request
        return Completion(text="x", usage=Usage(1, 10, 5, 0.5))


REQUEST = Request(sample=Sample("a", {}))


class Asking:
    """A scorer that asks the evaluated model, and another one."""

    name = "asking"
    version = 1

    def describe_inputs(self, sample: Sample) -> str:
        return sample.id

    def reuse(self, score: Score) -> Score:
        return score

    async def score(self, case: Case) -> Score:
        for model in (case.model, *case.models.values()):
            await model.complete(REQUEST)
        return Score(values={"n": 1})


def outcome_of(**parts: Any) -> Any:
    models = {"m": Priced(), "judges": Priced()}
    who = resources(
        models=models, scorers={"s": Asking()}, other_models={"judge": "judges"}, **parts
    )
    return asyncio.run(attempt(job("a"), who))


def test_each_call_is_counted_under_the_name_of_its_model() -> None:
    tally = UsageCounter()

    async def ask() -> None:
        for name in ("a", "b", "a"):
            await tally.wrap(Priced(), name).complete(REQUEST)

    asyncio.run(ask())

    assert tally.usage == {"a": Usage(2, 20, 10, 1.0), "b": Usage(1, 10, 5, 0.5)}


def test_what_a_scorer_asks_is_no_part_of_the_answer() -> None:
    found = outcome_of(counts_other_usage=True)

    assert found.trace.usage.requests == 1
    assert found.others == {"m": Usage(1, 10, 5, 0.5), "judges": Usage(1, 10, 5, 0.5)}


def test_nothing_is_counted_where_nothing_else_is_asked() -> None:
    assert outcome_of().others == {}


def test_a_cost_that_is_not_known_makes_the_sum_unknown() -> None:
    assert (Usage(1, 1, 1, 0.5) + Usage(1, 1, 1)).cost is None


def test_what_two_jobs_took_is_added() -> None:
    into = {"a": Usage(1, 1, 1, 1.0)}

    add_usage(into, {"a": Usage(1, 1, 1, 1.0), "b": Usage(1, 2, 3, 0.0)})

    assert into == {"a": Usage(2, 2, 2, 2.0), "b": Usage(1, 2, 3, 0.0)}


class Giving(RecordSolver):
    """A solver that breaks after so many answers."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self._answers = answers

    async def solve(self, case: Case) -> Trace:
        for _ in range(self._answers):
            await case.model.complete(REQUEST)
        raise ValueError("enough")


@pytest.mark.parametrize("counts", [True, False])
def test_what_was_paid_before_the_solver_broke_is_counted(*, counts: bool) -> None:
    found = outcome_of(solver=Giving(2), counts_other_usage=counts)

    assert found.trace is None
    assert found.others == {"m": Usage(2, 20, 10, 1.0)}


def test_a_solver_that_broke_before_it_asked_has_cost_nothing() -> None:
    assert outcome_of(solver=Giving(0)).others == {}


def test_an_answer_whose_postprocessor_broke_is_counted_once() -> None:
    found = outcome_of(postprocessor=Breaking(), counts_other_usage=True)

    assert found.failure is not None
    assert found.trace.usage.requests == 1
    assert found.others == {}


def test_what_a_broken_solver_took_is_told_apart_from_what_was_asked_beside() -> None:
    one = Usage(1, 10, 5, 0.5)
    others = {"m": one, "judge": one}
    trace = Trace(input="", output="", post_processed="")
    solved = Outcome(task="t", model="m", sample_id="a", trace=trace, others=others)
    broken = Outcome(task="t", model="m", sample_id="a", others=others)

    assert split_usage(solved) == ({}, others)
    assert split_usage(broken) == ({"m": one}, {"judge": one})
