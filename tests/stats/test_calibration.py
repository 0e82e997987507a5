import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalwright.stats.calibration import (
    Bin,
    BrierParts,
    brier_interval,
    ece_interval,
    measure_calibration,
)
from evalwright.stats.interval import Interval
from evalwright.stats.mean import mean_interval
from evalwright.stats.rates import GROUP_RESAMPLES

answers = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=60)
bin_counts = st.integers(1, 40)

# Ten answers, by hand: four at 0.25 (one right), six at 0.75 (three right).
CONFIDENCES = [0.25] * 4 + [0.75] * 6
CORRECT = [True, False, False, False] + [True] * 3 + [False] * 3


def ece(confidences: Any, correct: Any, *, bins: int = 10) -> float:
    return measure_calibration(confidences, correct, bins=bins).ece


def brier(confidences: Any, correct: Any) -> float:
    return measure_calibration(confidences, correct).brier


def brier_decomposition(confidences: Any, correct: Any, *, bins: int = 10) -> BrierParts:
    return measure_calibration(confidences, correct, bins=bins).parts


def reliability_bins(confidences: Any, correct: Any, *, bins: int = 10) -> list[Bin]:
    return measure_calibration(confidences, correct, bins=bins).bins


def split(rows: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [p for p, _ in rows], [y for _, y in rows]


def test_ece_by_hand() -> None:
    """Guo et al. (2017), eq. 3: 0.4 · |0.25 - 0.25| + 0.6 · |0.5 - 0.75|."""
    assert ece(CONFIDENCES, CORRECT) == pytest.approx(0.15)


def test_brier_by_hand() -> None:
    """Four: (9/16 + 3/16); six: 3/16 + 27/16. Together 42/160."""
    assert brier(CONFIDENCES, CORRECT) == pytest.approx(42 / 160)


def test_the_decomposition_by_hand() -> None:
    """Murphy (1973): REL = 0.6 · 0.0625; RES = 0.4 · 0.15² + 0.6 · 0.1²; UNC = 0.4 · 0.6."""
    parts = brier_decomposition(CONFIDENCES, CORRECT)

    assert parts.reliability == pytest.approx(0.0375)
    assert parts.resolution == pytest.approx(0.015)
    assert parts.uncertainty == pytest.approx(0.24)
    assert parts.within_bin == pytest.approx(0)


def test_what_a_bin_hides_by_hand() -> None:
    """One bin, (0.2, wrong) and (0.6, right): 1/2 · 2 · 0.04 - 2/2 · 2 · 0.2 · 0.5 = -0.16."""
    parts = brier_decomposition([0.2, 0.6], [False, True], bins=1)

    assert parts.within_bin == pytest.approx(-0.16)
    assert parts.resolution == 0


def test_the_diagram_shows_every_bin() -> None:
    bins = reliability_bins([0.125, 0.25, 1.0], [True, False, True], bins=2)

    assert bins == [
        Bin(low=0.0, high=0.5, count=2, confidence=0.1875, accuracy=0.5),
        Bin(low=0.5, high=1.0, count=1, confidence=1.0, accuracy=1.0),
    ]


def test_an_empty_bin_has_no_accuracy() -> None:
    first = reliability_bins([0.9], [True], bins=2)[0]

    assert first == Bin(low=0.0, high=0.5, count=0, confidence=None, accuracy=None)


@pytest.mark.parametrize(
    ("confidence", "bins", "place"),
    [
        pytest.param(0.0, 10, 0, id="0 is in the first"),
        pytest.param(1.0, 10, 9, id="1 is in the last"),
        pytest.param(0.1, 10, 1, id="an edge opens the next bin"),
        pytest.param(0.29, 100, 29, id="also when 0.29 * 100 is 28.999"),
        pytest.param(0.7, 10, 7, id="and when 0.7 * 10 is 7.000001"),
        pytest.param(0.5, 1, 0, id="one bin holds all"),
    ],
)
def test_the_bin_of_a_confidence(confidence: float, bins: int, place: int) -> None:
    diagram = reliability_bins([confidence], [True], bins=bins)

    assert [part.count for part in diagram].index(1) == place


def test_nothing_measured_is_zero_without_a_warning() -> None:
    figures = measure_calibration([], [])

    assert ece([], []) == brier([], []) == figures.ece == figures.brier == 0.0
    assert figures.parts == BrierParts(
        reliability=0.0, resolution=0.0, uncertainty=0.0, within_bin=0.0
    )
    assert figures.populated_bins == figures.n == 0


@given(answers, bin_counts)
def test_the_parts_sum_to_the_brier_score(rows: list[tuple[float, bool]], bins: int) -> None:
    confidences, correct = split(rows)

    parts = brier_decomposition(confidences, correct, bins=bins)

    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bin
    assert total == pytest.approx(brier(confidences, correct), abs=1e-12)


@given(answers, bin_counts)
def test_the_figures_agree_with_each_other(rows: list[tuple[float, bool]], bins: int) -> None:
    confidences, correct = split(rows)

    figures = measure_calibration(confidences, correct, bins=bins)

    assert figures.ece == ece(confidences, correct, bins=bins)
    assert figures.brier == brier(confidences, correct)
    assert figures.parts == brier_decomposition(confidences, correct, bins=bins)
    assert figures.bins == reliability_bins(confidences, correct, bins=bins)
    assert figures.populated_bins == sum(part.count > 0 for part in figures.bins)
    assert figures.n == sum(part.count for part in figures.bins) == len(rows)


@given(answers, bin_counts)
def test_the_figures_stay_in_range(rows: list[tuple[float, bool]], bins: int) -> None:
    figures = measure_calibration(*split(rows), bins=bins)

    assert 0 <= figures.ece <= 1
    assert 0 <= figures.brier <= 1
    # Jensen: the mean of squared gaps is at least the square of the mean gap.
    assert figures.parts.reliability >= figures.ece**2 - 1e-12


@given(st.lists(st.booleans(), min_size=1))
def test_certainty_that_is_always_right_is_perfect(correct: list[bool]) -> None:
    confidences = [float(y) for y in correct]

    figures = measure_calibration(confidences, correct)

    assert figures.ece == figures.brier == 0


@pytest.mark.parametrize(
    ("confidences", "correct", "bins", "message"),
    [
        pytest.param([1.2], [1], 10, r"got `1.2` - at `confidences\[0\]`", id="above 1"),
        pytest.param([math.nan], [1], 10, r"got `nan` - at `confidences\[0\]`", id="NaN"),
        pytest.param([0.5], [0.5], 10, r"true or false, got `0.5` - at `correct\[0\]`", id="half"),
        pytest.param([0.5], [2], 10, r"got `2.0` - at `correct\[0\]`", id="twice right"),
        pytest.param([0.5], [1, 0], 10, "one verdict per confidence, got 2 and 1", id="unequal"),
        pytest.param([0.5], [1], 0, "at least 1 bin, got `0`", id="no bins"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    confidences: list[float], correct: list[float], bins: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ece(confidences, correct, bins=bins)


def interval_of(rows: list[tuple[float, bool]], **settings: Any) -> Interval:
    found = ece_interval(*split(rows), **settings)
    assert found is not None
    return found


def test_of_no_answers_there_is_no_interval() -> None:
    assert ece_interval([], []) is None
    assert brier_interval([], []) is None


def test_the_interval_of_the_brier_score_is_that_of_a_mean() -> None:
    losses = [(p - y) ** 2 for p, y in zip(CONFIDENCES, CORRECT, strict=True)]

    assert brier_interval(CONFIDENCES, CORRECT) == mean_interval(losses, resamples=GROUP_RESAMPLES)


@settings(max_examples=50)
@given(answers.filter(bool), bin_counts)
def test_the_interval_holds_the_figure_and_is_never_a_point(
    rows: list[tuple[float, bool]], bins: int
) -> None:
    found = interval_of(rows, bins=bins)

    value = ece(*split(rows), bins=bins)
    assert 0 <= found.low <= value + 1e-12
    assert value - 1e-12 <= found.high <= 1
    assert found.low < found.high


@pytest.mark.parametrize("n", [20, 100, 2000])
def test_the_ece_of_a_calibrated_model_may_be_0(n: int) -> None:
    """Though it is not 0, and resampled answers would never give 0."""
    rng = np.random.default_rng(n)
    p = rng.beta(5, 2, n)
    y = rng.random(n) < p

    found = ece_interval(p, y)

    assert found is not None
    assert found.low == 0 < ece(p, y) < found.high


def test_the_ece_of_a_model_that_is_too_sure_is_not_0() -> None:
    found = interval_of([(0.95, n < 60) for n in range(100)])

    assert found.low > 0.2  # at 0.35; the accuracy of 0.6 has an error of 0.05
    assert found.high < 0.5


def test_an_ece_far_from_0_has_the_interval_of_the_accuracy() -> None:
    """One bin, one confidence: |0.95 - y|, with y = 0.6 ± 1.96·√(0.6·0.4/n)."""
    found = interval_of([(0.95, n < 6_000) for n in range(10_000)])

    half = 1.96 * math.sqrt(0.24 / 10_000)
    assert found.high == pytest.approx(0.35 + half, abs=half / 10)
    assert found.low == pytest.approx(0.35 - half, abs=half / 3)


@pytest.mark.parametrize("right", [True, False])
def test_answers_that_are_all_right_or_all_wrong_do_not_make_it_certain(*, right: bool) -> None:
    """Five of five: Wilson's interval of the accuracy begins at 0.5655, or ends at 0.4345."""
    p, y = [0.97 if right else 0.03] * 5, [right] * 5

    error, score = ece_interval(p, y), brier_interval(p, y)

    assert error is not None
    assert error.low == 0
    assert error.high >= 0.97 - 0.5655
    assert score is not None
    assert score.high >= 0.5655 * 0.03**2 + 0.4345 * 0.97**2 - 1e-4


def test_trials_of_one_record_do_not_make_the_figures_surer() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(5, 2, 300)
    y = rng.random(300) < p**2
    often = np.repeat(p, 4), np.repeat(y, 4)
    records = np.repeat(np.arange(300), 4)

    for figure in (ece_interval, brier_interval):
        once, grouped, naive = (
            one.high - one.low
            for one in (figure(p, y), figure(*often, groups=records), figure(*often))
            if one is not None
        )
        assert grouped == pytest.approx(once, rel=0.15)
        assert naive < 0.7 * once


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = list(zip(CONFIDENCES, CORRECT, strict=True))

    assert interval_of(rows, seed=3) == interval_of(rows, seed=3)
