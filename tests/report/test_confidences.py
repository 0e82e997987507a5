from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from evalwright.report.calibration_rows import CalibrationRow
from evalwright.report.confidences import project_calibration
from evalwright.report.report import MetricRow
from evalwright.types import Action, Failure, Outcome, Part, Score, Trace


def outcome(
    n: int, *, correct: bool | None = True, confidence: float | None = 0.8, **fields: Any
) -> Outcome:
    trace = Trace(input="", output="", post_processed="", confidence=confidence)
    scores = {"exact": Score(values={"is_correct": correct}, correct=correct)}
    usual = {"task": "t", "model": "m", "sample_id": str(n), "trace": trace, "scores": scores}
    return Outcome(**{**usual, **fields}, ordinal=n)


def check(scorer: str, purpose: Any) -> MetricRow:
    return MetricRow(
        task="t",
        model="m",
        scorer=scorer,
        metric="mean",
        value=None,
        ci_low=None,
        ci_high=None,
        interval=None,
        n=0,
        failed=0,
        excluded=0,
        purpose=purpose,
        reason="",
    )


def calibration(
    outcomes: Sequence[Outcome], metrics: Sequence[MetricRow] = (), **settings: Any
) -> dict[str, CalibrationRow]:
    known = {"bins": 10, "seed": 0, "calibrate": False, **settings}
    return project_calibration(outcomes, metrics, **known)


def test_answers_with_a_confidence_that_are_right_or_wrong_are_calibrated() -> None:
    found = calibration([outcome(0), outcome(1, correct=False), outcome(2, confidence=None)])

    row = found["m"]
    assert (row.covered, row.n) == (2, 3)
    assert row.ece == pytest.approx(0.3)
    assert row.scaled is None


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(outcome(0, confidence=None), id="no confidence"),
        pytest.param(outcome(0, correct=None), id="a score that is no verdict"),
        pytest.param(outcome(0, scores={}), id="no score"),
        pytest.param(outcome(0, trace=None), id="no answer"),
        pytest.param(
            outcome(0, actions=(Action(action="exclude", rule_key="r"),)), id="excluded by a rule"
        ),
        pytest.param(
            outcome(0, failure=Failure(stage="action", type="KeyError", message="")),
            id="a rule could not say",
        ),
        pytest.param(
            structs.replace(
                outcome(0, scores={}), parts=(Part(sample={}, scores=outcome(0).scores),)
            ),
            id="parts of an answer",
        ),
    ],
)
def test_a_model_without_such_answers_is_not_there(one: Outcome) -> None:
    assert calibration([one]) == {}


def test_the_first_scorer_that_gives_a_verdict_on_the_answer_counts() -> None:
    scores = {
        "language": Score(values={"is_english": True}, correct=True),
        "length": Score(values={"words": 3}),
        "exact": Score(values={"is_correct": False}, correct=False),
        "judge": Score(values={"is_correct": True}, correct=True),
    }

    found = calibration(
        [outcome(0, scores=scores)], [check("language", "qa"), check("exact", "score")]
    )

    assert found["m"].ece == pytest.approx(0.8)


def test_what_another_scorer_could_not_do_does_not_matter() -> None:
    failure = Failure(stage="score", type="timeout", message="the judge was silent")

    assert calibration([outcome(0, failure=failure)])["m"].covered == 1


def test_trials_stay_together_and_samples_of_two_tasks_apart() -> None:
    often = [outcome(n, trial=trial) for n in range(4) for trial in range(3)]
    twice = [outcome(n, task=task) for n in range(4) for task in ("one", "two")]

    tried, apart = (calibration(one, calibrate=True)["m"].scaled for one in (often, twice))

    assert tried is not None
    assert (tried.fitted_on, tried.n) == (6, 6)
    assert apart is not None
    assert (apart.fitted_on, apart.n) == (4, 4)
