import asyncio
from typing import Any

from tests.engine.made import crew, job

from evalwright.clients.placeholder import Placeholder
from evalwright.engine.run import attempt
from evalwright.engine.tally import Tally, merge, total
from evalwright.ports import Case
from evalwright.types import Completion, Request, Sample, Score, Usage


class Priced(Placeholder):
    async def complete(self, request: Request) -> Completion:
        del request
        return Completion(text="x", usage=Usage(1, 10, 5, 0.5))


REQUEST = Request(sample=Sample("a", {}))


class Asking:
    """A scorer that asks the evaluated model, and another one."""

    name = "asking"
    version = 1

    def reads(self, sample: Sample) -> str:
        return sample.id

    async def score(self, case: Case) -> Score:
        for model in (case.model, *case.models.values()):
            await model.complete(REQUEST)
        return Score(values={"n": 1})


def outcome_of(**parts: Any) -> Any:
    models = {"m": Priced(), "judges": Priced()}
    who = crew(models=models, scorers={"s": Asking()}, others={"judge": "judges"}, **parts)
    return asyncio.run(attempt(job("a"), who))


def test_each_call_is_counted_under_the_name_of_its_model() -> None:
    tally = Tally()

    async def ask() -> None:
        for name in ("a", "b", "a"):
            await tally.around(Priced(), name).complete(REQUEST)

    asyncio.run(ask())

    assert tally.usage == {"a": Usage(2, 20, 10, 1.0), "b": Usage(1, 10, 5, 0.5)}


def test_what_a_scorer_asks_is_no_part_of_the_answer() -> None:
    found = outcome_of(tallies=True)

    assert found.trace.usage.requests == 1
    assert found.others == {"m": Usage(1, 10, 5, 0.5), "judges": Usage(1, 10, 5, 0.5)}


def test_nothing_is_counted_where_nothing_else_is_asked() -> None:
    assert outcome_of().others == {}


def test_a_cost_that_is_not_known_makes_the_sum_unknown() -> None:
    assert total([Usage(1, 1, 1, 0.5), Usage(1, 1, 1)]).cost is None


def test_what_two_jobs_took_is_added() -> None:
    into = {"a": Usage(1, 1, 1, 1.0)}

    merge(into, {"a": Usage(1, 1, 1, 1.0), "b": Usage(1, 2, 3, 0.0)})

    assert into == {"a": Usage(2, 2, 2, 2.0), "b": Usage(1, 2, 3, 0.0)}
