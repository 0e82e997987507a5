import asyncio
from typing import Any

import pytest
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, case, chat

from evalwright.types import Score, Trace, Usage


def measure(fields: dict[str, Any], *, latency_s: float, requests: int = 1) -> Score:
    trace = Trace(
        input="?",
        output="a",
        post_processed="a",
        latency_s=latency_s,
        usage=Usage(requests=requests),
        conversation=chat("a"),
    )
    scorer = SCORERS.validate_python({"type": "latency", **fields})
    found: Score = asyncio.run(scorer.score(case({}).with_trace(trace)))
    return found


@pytest.mark.parametrize(
    ("fields", "seconds", "within"),
    [
        pytest.param({}, 1.5, None, id="no limit"),
        pytest.param({"limit_s": 2}, 1.5, True, id="below the limit"),
        pytest.param({"limit_s": 1.5}, 1.5, True, id="at the limit"),
        pytest.param({"limit_s": 1}, 1.5, False, id="above the limit"),
    ],
)
def test_the_time_of_an_answer_is_a_score(
    fields: dict[str, Any], seconds: float, *, within: bool | None
) -> None:
    found = measure(fields, latency_s=seconds)

    assert found.values == {"latency_s": seconds, "is_within_limit": within}
    assert found.correct is None
    assert bool(found.reason) is (within is False)


def test_a_cached_answer_has_no_latency() -> None:
    found = measure({"limit_s": 1}, latency_s=0.0001, requests=0)

    assert found.values == {"latency_s": None, "is_within_limit": None}


def test_a_stored_score_of_the_same_answer_is_not_reused() -> None:
    scorer = SCORERS.validate_python({"type": "latency"})

    assert scorer.reuse(measure({}, latency_s=1)) is None


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_what_is_no_limit_is_refused(limit: float) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({"type": "latency", "limit_s": limit})
