import math
from typing import Any

import pytest

import evalwright as ew

ANSWERS: dict[str, Any] = {
    name: getattr(ew.calibration, name)
    for name in (
        *("ece", "brier_score", "brier_parts", "ece_interval", "brier_interval"),
        *("reliability_bins", "fit_temperature"),
    )
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(
    ("confidences", "correct", "message"),
    [
        pytest.param([0.5, 1.2], [1, 0], r"got `1.2` - at `confidences\[1\]`", id="above 1"),
        pytest.param([-0.1], [1], r"got `-0.1` - at `confidences\[0\]`", id="below 0"),
        pytest.param([math.nan], [1], r"got `nan` - at `confidences\[0\]`", id="NaN"),
        pytest.param([0.5], [1, 0], "one verdict per confidence, got 2 and 1", id="lengths"),
        pytest.param([0.5], [0.5], r"true or false, got `0.5` - at `correct\[0\]`", id="between"),
    ],
)
def test_bad_answers_are_named(
    name: str, confidences: list[float], correct: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ANSWERS[name](confidences, correct)


def test_no_answers_have_an_error_of_zero_and_empty_bins() -> None:
    assert ew.calibration.ece([], []) == 0.0
    assert ew.calibration.brier_score([], []) == 0.0
    assert [part.count for part in ew.calibration.reliability_bins([], [], bins=3)] == [0, 0, 0]


@pytest.mark.parametrize("name", ["brier_parts", "ece_interval", "brier_interval"])
def test_what_else_needs_answers_says_so(name: str) -> None:
    with pytest.raises(ValueError, match="got none: `confidences` is empty"):
        ANSWERS[name]([], [])


def test_a_temperature_needs_answers() -> None:
    with pytest.raises(ValueError, match="expected at least 1 answer, got none"):
        ew.calibration.fit_temperature([], [])
    with pytest.raises(ValueError, match="`confidences` is empty"):
        ew.calibration.apply_temperature([], 2.0)
    with pytest.raises(ValueError, match="expected a temperature above 0, got `0`"):
        ew.calibration.apply_temperature([0.5], 0)


def test_parts_and_interval_belong_to_the_score() -> None:
    confidences, correct = [0.9, 0.8, 0.3, 0.6], [True, False, False, True]
    score = ew.calibration.brier_score(confidences, correct)
    parts = ew.calibration.brier_parts(confidences, correct)
    interval = ew.calibration.brier_interval(confidences, correct)

    whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bin
    assert whole == pytest.approx(score)
    assert interval.low < score < interval.high


def test_a_fitted_temperature_lowers_the_error() -> None:
    confidences, correct = [0.95] * 20, [True] * 12 + [False] * 8
    fitted = ew.calibration.fit_temperature(confidences, correct)

    scaled = ew.calibration.apply_temperature(confidences, fitted.value)

    assert fitted.value > 1
    assert ew.calibration.ece(scaled, correct) < 0.01 < ew.calibration.ece(confidences, correct)


def test_confidence_is_the_mean_probability_of_a_token() -> None:
    assert ew.calibration.answer_confidence([math.log(0.5), math.log(0.125)]) == pytest.approx(0.25)
    assert ew.calibration.answer_confidence([0.0]) == 1
    with pytest.raises(ValueError, match="`logprobs` is empty"):
        ew.calibration.answer_confidence([])
    with pytest.raises(ValueError, match="log-probabilities of 0 or less"):
        ew.calibration.answer_confidence([0.5])
