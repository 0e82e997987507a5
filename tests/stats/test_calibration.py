import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.calibration import (
    Bin,
    BrierParts,
    brier,
    brier_decomposition,
    calibration,
    ece,
    reliability_bins,
)

answers = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=60)
bin_counts = st.integers(1, 40)

# Ten answers, by hand: four at 0.25 (one right), six at 0.75 (three right).
CONFIDENCES = [0.25] * 4 + [0.75] * 6
CORRECT = [True, False, False, False] + [True] * 3 + [False] * 3


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
    figures = calibration([], [])

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

    figures = calibration(confidences, correct, bins=bins)

    assert figures.ece == ece(confidences, correct, bins=bins)
    assert figures.brier == brier(confidences, correct)
    assert figures.parts == brier_decomposition(confidences, correct, bins=bins)
    assert figures.bins == reliability_bins(confidences, correct, bins=bins)
    assert figures.populated_bins == sum(part.count > 0 for part in figures.bins)
    assert figures.n == sum(part.count for part in figures.bins) == len(rows)


@given(answers, bin_counts)
def test_the_figures_stay_in_range(rows: list[tuple[float, bool]], bins: int) -> None:
    figures = calibration(*split(rows), bins=bins)

    assert 0 <= figures.ece <= 1
    assert 0 <= figures.brier <= 1
    # Jensen: the mean of squared gaps is at least the square of the mean gap.
    assert figures.parts.reliability >= figures.ece**2 - 1e-12


@given(st.lists(st.booleans(), min_size=1))
def test_certainty_that_is_always_right_is_perfect(correct: list[bool]) -> None:
    confidences = [float(y) for y in correct]

    figures = calibration(confidences, correct)

    assert figures.ece == figures.brier == 0


@pytest.mark.parametrize(
    ("confidences", "correct", "bins", "message"),
    [
        pytest.param([1.2], [1], 10, r"got `1.2` - at `confidences\[0\]`", id="above 1"),
        pytest.param([math.nan], [1], 10, r"got `nan` - at `confidences\[0\]`", id="NaN"),
        pytest.param([0.5], [0.5], 10, r"true or false, got `0.5` - at `correct\[0\]`", id="half"),
        pytest.param([0.5], [2], 10, r"got `2.0` - at `correct\[0\]`", id="twice right"),
        pytest.param([0.5], [1, 0], 10, "one verdict a confidence, got 2 and 1", id="unequal"),
        pytest.param([0.5], [1], 0, "at least 1 bin, got `0`", id="no bins"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    confidences: list[float], correct: list[float], bins: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ece(confidences, correct, bins=bins)
