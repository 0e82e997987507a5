"""Lesson 73, calibration: ECE, Brier score, reliability bins, perplexity, temperature."""

import math
import warnings

import pytest

import evalwright as ew

CONFIDENCES = [0.95, 0.95, 0.85, 0.85, 0.55, 0.55, 0.15, 1.0]
CORRECT = [True, True, True, False, True, False, False, True]


def test_ece_weighs_the_gap_of_each_bin() -> None:
    # bins: [0.1, 0.2) gap 0.15 of 1; [0.5, 0.6) 0.05 of 2; [0.8, 0.9) 0.35 of 2; [0.9, 1] of 3
    top = abs(1 - (0.95 + 0.95 + 1.0) / 3)
    expected = (1 * 0.15 + 2 * 0.05 + 2 * 0.35 + 3 * top) / 8

    assert ew.calibration.ece(CONFIDENCES, CORRECT) == pytest.approx(expected)
    assert ew.calibration.ece(CONFIDENCES, CORRECT, bins=1) == pytest.approx(abs(5.85 / 8 - 5 / 8))
    assert ew.calibration.ece(CONFIDENCES, CORRECT, bins=15) >= 0


def test_a_model_that_is_always_right_and_sure_has_no_error() -> None:
    assert ew.calibration.ece([1.0, 1.0], [True, True]) == 0
    assert ew.calibration.brier_score([1.0, 0.0], [True, False]) == 0
    assert ew.calibration.brier_score([0.5, 0.5], [True, False]) == 0.25


def test_the_brier_score_is_the_sum_of_its_parts() -> None:
    parts = ew.calibration.brier_parts(CONFIDENCES, CORRECT)
    whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bin

    assert whole == pytest.approx(ew.calibration.brier_score(CONFIDENCES, CORRECT))
    assert parts.uncertainty == pytest.approx(5 / 8 * 3 / 8)


def test_bins_have_confidence_accuracy_and_count() -> None:
    bins = ew.calibration.reliability_bins(CONFIDENCES, CORRECT)

    assert [part.count for part in bins] == [0, 1, 0, 0, 0, 2, 0, 0, 2, 3]
    assert bins[8].confidence == pytest.approx(0.85)
    assert bins[8].accuracy == 0.5
    assert (bins[0].confidence, bins[0].accuracy) == (None, None)
    assert (bins[9].low, bins[9].high) == (0.9, 1.0)


def test_no_answers_have_no_error_and_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ew.calibration.ece([], []) == 0.0
        assert ew.calibration.brier_score([], []) == 0.0


@pytest.mark.parametrize(
    ("confidences", "correct"),
    [([1.01], [True]), ([-0.01], [True]), ([math.nan], [True]), ([0.5], []), ([0.5], [2])],
)
def test_what_is_no_probability_or_no_verdict_is_refused(
    confidences: list[float], correct: list[bool]
) -> None:
    for function in (ew.calibration.ece, ew.calibration.brier_score):
        with pytest.raises(ValueError, match="expected"):
            function(confidences, correct)


def test_perplexity_is_per_token() -> None:
    assert ew.calibration.perplexity(10 * math.log(2), 10) == pytest.approx(2)
    assert ew.calibration.perplexity([1.0, 3.0], [1, 3]) == pytest.approx(math.e)
    assert math.isnan(ew.calibration.perplexity(0.0, 0))
    with pytest.raises(ValueError, match="expected an NLL of 0 or more"):
        ew.calibration.perplexity(-1.0, 10)
    with pytest.raises(ValueError, match="one token count per NLL"):
        ew.calibration.perplexity([1.0, 2.0], [1])


def test_a_temperature_above_1_makes_an_overconfident_model_less_sure() -> None:
    confidences, correct = [0.99] * 10, [True] * 6 + [False] * 4

    fitted = ew.calibration.fit_temperature(confidences, correct)
    scaled = ew.calibration.apply_temperature(confidences, fitted.value)

    assert fitted.value > 1
    assert fitted.low < fitted.value < fitted.high
    assert scaled == pytest.approx([0.6] * 10)


def test_a_temperature_of_1_changes_nothing_and_the_order_stays() -> None:
    confidences = [0.2, 0.5, 0.9]

    assert ew.calibration.apply_temperature(confidences, 1.0) == pytest.approx(confidences)
    scaled = ew.calibration.apply_temperature(confidences, 5.0)
    assert scaled == sorted(scaled)


def test_confidence_comes_from_the_tokens_of_an_answer() -> None:
    logprobs = [math.log(0.9), math.log(0.4)]

    assert ew.calibration.answer_confidence(logprobs) == pytest.approx(0.6)
