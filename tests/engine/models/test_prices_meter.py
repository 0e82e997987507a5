import asyncio

import pytest
from msgspec import structs
from tests.engine.models.made import Says, question

from evalwright.engine.models.prices import FREE, MeteredModel, Price
from evalwright.types import Completion, Usage

PRICE = Price(2, 8)


def cost(usage: Usage, price: Price = PRICE) -> float | None:
    reply = Completion(text="4", usage=usage)
    completion = asyncio.run(MeteredModel(Says(reply), price).complete(question()))
    assert structs.replace(completion.usage, cost=usage.cost) == usage
    return completion.usage.cost


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param(Usage(1, 1_000_000, 0), 2.0, id="a million of the prompt"),
        pytest.param(Usage(1, 0, 1_000_000), 8.0, id="a million of the answer"),
        pytest.param(Usage(1, 500, 250), 0.003, id="both"),
        pytest.param(Usage(1, 500, 250, 0.5), 0.5, id="the client knows better"),
        pytest.param(Usage(1, 0, 0), None, id="a server that counts no tokens is not guessed at"),
        pytest.param(Usage(0, 0, 0), 0.0, id="nothing was asked"),
    ],
)
def test_cost(usage: Usage, expected: float | None) -> None:
    assert cost(usage) == (None if expected is None else pytest.approx(expected))


def test_what_is_free_costs_nothing_however_little_it_says() -> None:
    assert cost(Usage(1, 0, 0), FREE) == 0.0
    assert cost(Usage(1, 100, 100), FREE) == 0.0


def test_an_answer_whose_cost_is_known_is_passed_on_as_it_is() -> None:
    reply = Completion(text="4", usage=Usage(1, 5, 5, 0.25))

    assert asyncio.run(MeteredModel(Says(reply), PRICE).complete(question())) is reply
