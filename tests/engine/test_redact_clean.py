from typing import Any

import msgspec
import pytest
from tests.engine.made import outcome

from evalwright.engine.redact import redact, redact_outcomes
from evalwright.engine.results import (
    FinalResult,
    FlakySample,
    MetricValue,
    RunAgreement,
    TaskFailure,
)
from evalwright.metrics.scores import Measure
from evalwright.secrets import Redactor
from evalwright.types import Failure, Outcome, Score, Trace

SECRET = "sk-0123456789abcdef"  # noqa: S105 - not one
REDACTOR = Redactor([SECRET])


def trace(**texts: Any) -> Trace:
    return Trace(**{"input": "2 + 2", "output": "4", "post_processed": "4", **texts})


@pytest.mark.parametrize(
    "dirty",
    [
        pytest.param(outcome(trace=trace(input=f"my key is {SECRET}")), id="what was asked"),
        pytest.param(outcome(trace=trace(output=f"your key is {SECRET}")), id="what was said"),
        pytest.param(outcome(trace=trace(post_processed=SECRET)), id="what became of it"),
        pytest.param(
            outcome(scores={"record": Score(values={}, reason=f"{SECRET!r} against '4'")}),
            id="a reason",
        ),
        pytest.param(
            outcome(scores={"record": Score(values={}, metadata={"detail": SECRET})}),
            id="a fact about a score",
        ),
        pytest.param(
            outcome(scores={"record": Score(values={}, metadata={"a": [{SECRET: (SECRET, 1)}]})}),
            id="however deep it lies",
        ),
        pytest.param(
            outcome(failure=Failure(stage="solver", type="auth", message=f"401 for {SECRET}")),
            id="a failure's message",
        ),
        pytest.param(
            outcome(failure=Failure(stage="solver", type="auth", message="no", hint=SECRET)),
            id="a failure's hint",
        ),
    ],
)
def test_a_secret_is_kept_out_of(dirty: Outcome) -> None:
    clean = redact(dirty, REDACTOR)

    assert SECRET in repr(dirty)
    assert SECRET.encode() not in msgspec.json.encode(clean)
    assert b"[redacted]" in msgspec.json.encode(clean)


def test_a_secret_is_kept_out_of_what_is_said_of_all_samples() -> None:
    measure = Measure(name=f"of {SECRET}", value=1.0, interval=None, n=3, reason=f"see {SECRET}")
    failure = Failure(stage="metric", type="ValueError", message=SECRET, hint=SECRET)
    dirty = FinalResult(
        figures=[MetricValue(scorer="a", metric="b", measure=measure)],
        broken=[TaskFailure(stage="metric", what="a.b", failure=failure)],
        agreements=[
            RunAgreement(scorer="a", score=f"is {SECRET}", mean=1.0, interval=None, n=3, flaky=1)
        ],
        flaky=[
            FlakySample(
                sample_id=SECRET,
                scorer="a",
                score=f"is {SECRET}",
                agreement=0.5,
                values=((f"said {SECRET}", 1), ("said nothing", 1)),
            )
        ],
        scored=3,
    )

    clean = redact(dirty, REDACTOR)

    assert SECRET not in repr(clean)
    assert (clean.scored, clean.figures[0].measure.value) == (3, 1.0)
    assert clean.figures[0].measure.reason == "see [redacted]"
    assert redact(clean, REDACTOR) == clean


def test_everything_else_is_as_it_was() -> None:
    whole = outcome(
        "a",
        trace=trace(),
        scores={"record": Score(values={"score": 0.5}, metadata={"targets": [True, None, 1.5]})},
        failure=Failure(stage="score", type="KeyError", message="'x'", hint="look", attempts=3),
        ordinal=7,
        solve_key="0" * 32,
        score_keys={"record": "f" * 32},
    )

    assert redact(whole, REDACTOR) == whole
    assert redact(outcome(), REDACTOR) == outcome()


def test_the_outcomes_of_a_batch_lose_the_secrets_and_keep_their_order() -> None:
    batch = [outcome(f"s{n}", trace=trace(output=SECRET if n % 7 == 3 else "4")) for n in range(40)]

    clean = redact_outcomes(batch, REDACTOR)

    assert [each.sample_id for each in clean] == [each.sample_id for each in batch]
    assert [each.trace.output for each in clean if each.trace] == [
        "[redacted]" if n % 7 == 3 else "4" for n in range(40)
    ]
    assert redact_outcomes(batch, Redactor([])) == batch
