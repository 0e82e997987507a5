import asyncio
from typing import Any

import pytest
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, case, chat

from evalwright.types import Score, Trace, Usage


def measure(fields: dict[str, Any], *, cost: float | None, requests: int = 1) -> Score:
    trace = Trace(
        input="?",
        output="a",
        post_processed="a",
        usage=Usage(requests=requests, cost=cost),
        conversation=chat("a"),
    )
    scorer = SCORERS.validate_python({"type": "cost", **fields})
    found: Score = asyncio.run(scorer.score(case({}).with_trace(trace)))
    return found


@pytest.mark.parametrize(
    ("fields", "cost", "within"),
    [
        pytest.param({}, 0.002, None, id="no limit"),
        pytest.param({"limit": 0.01}, 0.002, True, id="below the limit"),
        pytest.param({"limit": 0.002}, 0.002, True, id="at the limit"),
        pytest.param({"limit": 0.001}, 0.002, False, id="above the limit"),
        pytest.param({"limit": 0}, 0.0, True, id="free"),
        pytest.param({"limit": 0.01}, None, None, id="an unknown price"),
    ],
)
def test_the_cost_of_an_answer_is_a_score(
    fields: dict[str, Any], cost: float | None, *, within: bool | None
) -> None:
    found = measure(fields, cost=cost)

    assert found.values == {"cost": cost, "is_within_limit": within}
    assert found.correct is None
    assert bool(found.reason) is (within is False)


def test_a_cached_answer_has_no_cost() -> None:
    assert measure({}, cost=0.0, requests=0).values == {"cost": None, "is_within_limit": None}


def test_a_stored_score_of_the_same_answer_is_not_reused() -> None:
    scorer = SCORERS.validate_python({"type": "cost"})

    assert scorer.reuse(measure({}, cost=1)) is None


@pytest.mark.parametrize("limit", [-1, float("inf")])
def test_what_is_no_limit_is_refused(limit: float) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({"type": "cost", "limit": limit})
