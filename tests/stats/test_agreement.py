"""How often runs say the same of one sample."""

from itertools import product
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.agreement import score_agreement


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([True, True, True], 1.0, id="all agree"),
        pytest.param([True, False, True, True, False], 0.6, id="three of five"),
        pytest.param(["a", "b", "c"], 1 / 3, id="no two agree"),
        pytest.param([1, 1, 2, 2], 0.5, id="a tie"),
        pytest.param([0], 1.0, id="one run"),
    ],
)
def test_agreement_by_hand(values: list[object], expected: float) -> None:
    assert score_agreement(values) == pytest.approx(expected)


def test_of_five_fair_coins_it_is_as_the_docstring_says() -> None:
    every = [score_agreement(coins) for coins in product((0, 1), repeat=5)]

    assert fmean(every) == pytest.approx(0.6875)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_it_lies_between_one_of_them_and_all(values: list[int]) -> None:
    assert 1 / len(values) <= score_agreement(values) <= 1
    assert score_agreement(values) == score_agreement(sorted(values))


def test_no_runs_have_no_agreement() -> None:
    with pytest.raises(ValueError, match="expected at least 1 value"):
        score_agreement([])
