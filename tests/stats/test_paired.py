from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.paired import (
    PairedDifference,
    any_paired_difference,
    paired_difference,
)

score = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])
pairs = st.lists(st.tuples(score, score), min_size=1, max_size=30)

# Extra hours of sleep, drug 2 less drug 1, Student (1908), here in tens of hours.
SLEEP = [0.12, 0.24, 0.13, 0.13, 0.0, 0.10, 0.18, 0.08, 0.46, 0.14]


def split(rows: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [a for a, _ in rows], [b for _, b in rows]


def test_students_sleep_data() -> None:
    """The published t interval is 0.70 to 2.46 hours; the bootstrap may only widen it."""
    found = paired_difference(SLEEP, [0.0] * 10)

    assert found.difference == pytest.approx(0.158)
    assert found.low == pytest.approx(0.0700, abs=5e-5)
    assert found.high is not None
    assert 0.2459 < found.high < 0.28
    assert found.significant


def test_no_tasks_are_no_difference() -> None:
    assert paired_difference([], []) == PairedDifference(None, None, None, significant=False, n=0)


# The sign test: 6 wins of 6 have p = 2/64 = 0.03, 5 of 5 have p = 2/32 = 0.06.
@pytest.mark.parametrize(
    ("wins", "significant"),
    [
        pytest.param(1, False, id="one win proves nothing"),
        pytest.param(5, False, id="nor do five of five"),
        pytest.param(6, True, id="six of six do"),
    ],
)
def test_equal_differences_are_judged_like_the_sign_test(wins: int, *, significant: bool) -> None:
    found = paired_difference([1.0] * wins, [0.0] * wins)

    assert found.significant is significant
    assert found.difference == found.high == 1


@pytest.mark.parametrize("n", [1, 3, 20, 1000])
def test_always_the_same_score_is_a_tie_with_width(n: int) -> None:
    found = paired_difference([0.7] * n, [0.7] * n)

    assert found.difference == 0
    assert not found.significant
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < found.high


def test_a_constant_small_lead_needs_many_tasks() -> None:
    few, many = (paired_difference([0.6] * n, [0.5] * n) for n in (20, 100))

    assert not few.significant
    assert many.significant


def test_pairing_finds_what_two_intervals_would_miss() -> None:
    hardness = np.random.default_rng(0).beta(1, 1, 60) * 0.9
    better = hardness + np.tile([0.03, 0.05, 0.07], 20)

    assert paired_difference(better, hardness).significant


@given(pairs, st.integers(0, 2**32))
def test_swapping_the_models_mirrors_the_result(rows: list[tuple[float, float]], seed: int) -> None:
    a, b = split(rows)

    forth = paired_difference(a, b, resamples=100, seed=seed)
    back = paired_difference(b, a, resamples=100, seed=seed)

    assert forth.difference == -(back.difference or 0)
    assert (forth.low, forth.high) == (-(back.high or 0), -(back.low or 0))
    assert forth.significant == back.significant


@given(pairs)
def test_it_holds_the_difference_and_judges_by_zero(rows: list[tuple[float, float]]) -> None:
    found = paired_difference(*split(rows), resamples=100)

    assert found.difference is not None
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low <= found.difference <= found.high <= 1
    assert found.low < found.high
    assert found.difference == pytest.approx(fmean(a - b for a, b in rows), abs=1e-12)
    assert found.significant == (not found.low <= 0 <= found.high)
    assert found.n == len(rows)


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(
    rows: list[tuple[float, float]], random: object
) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis hides its type

    first, second = (paired_difference(*split(r), resamples=100) for r in (rows, shuffled))

    assert first == second


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        pytest.param([1.0], [1.0, 0.0], "one score per sample in both, got 1 and 2", id="unequal"),
        pytest.param([1.0], [-1.0], r"got `-1.0` - at `b\[0\]`", id="out of range"),
    ],
)
def test_what_cannot_be_paired_is_refused(a: list[float], b: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_difference(a, b)


@given(pairs, st.integers(0, 2**32))
def test_numbers_between_0_and_1_are_compared_the_same_way(
    rows: list[tuple[float, float]], seed: int
) -> None:
    a, b = split(rows)

    assert any_paired_difference(a, b, seed=seed) == paired_difference(a, b, seed=seed)


def test_a_longer_scale_is_a_longer_interval() -> None:
    short = paired_difference(SLEEP, [0.0] * 10)
    long = any_paired_difference([100 * hours for hours in SLEEP], [0.0] * 10)

    assert long.significant
    assert [long.difference, long.low, long.high] == pytest.approx(
        [100 * (number or 0) for number in (short.difference, short.low, short.high)]
    )


def test_equal_differences_of_any_numbers_have_no_interval() -> None:
    found = any_paired_difference([5.0] * 9, [4.0] * 9)

    assert found == PairedDifference(1.0, None, None, significant=False, n=9)
