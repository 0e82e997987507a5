import asyncio

import pytest
from tests.engine.models.made import Held, Says, answer, question, refused, settle

from evalwright.engine.models.base import CountedModel, Counters
from evalwright.errors import ModelError


def test_calls_refusals_and_failures_are_counted() -> None:
    counters = Counters()
    model = CountedModel(Says(answer(), refused(), ValueError("odd"), answer()), counters)

    async def ask() -> None:
        await model.complete(question())
        for kind in (ModelError, ValueError):
            with pytest.raises(kind):
                await model.complete(question())
        await model.complete(question())

    asyncio.run(ask())

    assert counters == Counters(requests=4)


def test_what_is_under_way_is_in_flight_and_a_cancelled_call_is_not() -> None:
    async def watch() -> list[int]:
        counters, inner = Counters(), Held()
        calls = [
            asyncio.ensure_future(CountedModel(inner, counters).complete(question()))
            for _ in range(3)
        ]
        await settle()
        seen = [counters.in_flight]
        calls[0].cancel()
        await settle()
        seen.append(counters.in_flight)
        inner.go.set()
        await settle()
        return [*seen, counters.in_flight]

    assert asyncio.run(watch()) == [3, 2, 0]
