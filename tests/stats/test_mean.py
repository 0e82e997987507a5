import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalwright.stats.interval import constant_bound, wilson
from evalwright.stats.mean import mean_interval

graded = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=40)


def spread(n: int) -> list[float]:
    return [i / n for i in range(1, n + 1)]


@pytest.mark.parametrize(
    ("scores", "method"),
    [
        pytest.param([1, 0, 1], "wilson", id="zeros and ones"),
        pytest.param([True, False], "wilson", id="true and false"),
        pytest.param([1.0] * 10, "wilson", id="all right is binary"),
        pytest.param([0.5] * 10, "bound", id="all equal and graded"),
        pytest.param([0.5], "bound", id="one graded score"),
        pytest.param([0.3, 0.1 + 0.2], "bound", id="equal but for rounding"),
        pytest.param(spread(19), "bootstrap-t", id="few graded"),
        pytest.param(spread(20), "bca", id="many graded"),
        pytest.param([0.0] * 30 + [0.5], "bca", id="one graded score among binary ones"),
    ],
)
def test_the_method_follows_the_scores(scores: list[float], method: str) -> None:
    interval = mean_interval(scores)

    assert interval is not None
    assert interval.method == method


def test_no_scores_have_no_interval() -> None:
    assert mean_interval([]) is None


def test_ten_right_answers_are_not_certainty() -> None:
    interval = mean_interval([1.0] * 10)

    assert interval == wilson(10, 10)
    assert interval.low == pytest.approx(0.7225, abs=5e-5)


def test_equal_graded_scores_get_the_bound() -> None:
    assert mean_interval([0.25] * 7, confidence=0.9) == constant_bound(0.25, 7, confidence=0.9)


def test_many_scores_approach_the_normal_interval() -> None:
    """By hand: 0.5 ± 1.96 · √(1/12) / √5000 for evenly spread scores."""
    interval = mean_interval(spread(5000))

    half = 1.96 * math.sqrt(1 / 12) / math.sqrt(5000)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.5001 - half, 0.5001 + half), abs=3e-4)


@given(graded, st.sampled_from([0.8, 0.95, 0.99]), st.integers(0, 2**32))
def test_it_holds_the_mean_stays_in_range_and_has_width(
    scores: list[float], confidence: float, seed: int
) -> None:
    interval = mean_interval(scores, confidence=confidence, resamples=100, seed=seed)

    assert interval is not None
    assert 0 <= interval.low <= fmean(scores) <= interval.high <= 1
    assert interval.low < interval.high


@given(graded, st.integers(0, 2**32))
def test_graded_scores_are_never_less_certain_than_binary_ones(
    scores: list[float], seed: int
) -> None:
    envelope = wilson(min(math.fsum(scores), len(scores)), len(scores))

    interval = mean_interval(scores, resamples=100, seed=seed)

    assert interval is not None
    assert interval.method == "bound" or (
        envelope.low <= interval.low <= interval.high <= envelope.high
    )


@given(graded, st.randoms(use_true_random=False))
def test_the_order_of_scores_does_not_matter(scores: list[float], random: object) -> None:
    shuffled = scores.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis hides its type

    assert mean_interval(scores, resamples=100) == mean_interval(shuffled, resamples=100)


@settings(max_examples=30)
@given(graded)
def test_lists_and_arrays_are_the_same(scores: list[float]) -> None:
    assert mean_interval(scores, resamples=100) == mean_interval(np.array(scores), resamples=100)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        pytest.param([0.5, 1.5], r"got `1.5` - at `scores\[1\]`", id="above 1"),
        pytest.param([math.nan, 0.5], r"got `nan` - at `scores\[0\]`", id="NaN"),
    ],
)
def test_a_score_out_of_range_is_refused(scores: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mean_interval(scores)
