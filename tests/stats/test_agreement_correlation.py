import math

import numpy as np
import pytest

from evalwright.stats.agreement import pearson, pearson_interval, ranks, spearman, spearman_interval


def test_pearson_is_what_a_hand_computes() -> None:
    # cov = 1/3, variances 2/3 and 2/9: (1/3) / √(4/27)
    assert pearson([1, 2, 3], [1, 2, 2]) == pytest.approx((1 / 3) / math.sqrt(4 / 27))


def test_a_line_correlates_perfectly_whatever_its_slope() -> None:
    assert pearson([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert pearson([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)


def test_spearman_is_what_a_hand_computes() -> None:
    # d = 0, 1, 1, 0, 0 without ties: 1 - 6·2 / 5·24
    assert spearman([1, 2, 3, 4, 5], [10, 30, 20, 40, 99]) == pytest.approx(0.9)


def test_equal_numbers_share_the_mean_of_their_ranks() -> None:
    assert ranks([5, 1, 5, 9]).tolist() == [2.5, 1, 2.5, 4]


@pytest.mark.parametrize(
    ("one", "other"), [([], []), ([1, 1, 1], [1, 2, 3])], ids=["nothing", "no spread"]
)
def test_what_does_not_vary_correlates_with_nothing(one: list[float], other: list[float]) -> None:
    assert pearson(one, other) is None
    assert spearman(one, other) is None
    assert pearson_interval(one, other) is None
    assert spearman_interval(one, other) is None


def test_the_interval_of_spearman_is_that_of_bonett_and_wright() -> None:
    # r = 0.9, n = 5: artanh 0.9 = 1.4722, half = 1.96·√(1.405 / 2) = 1.6428
    interval = spearman_interval([1, 2, 3, 4, 5], [10, 30, 20, 40, 99])

    assert interval is not None
    assert interval.low == pytest.approx(math.tanh(1.4722 - 1.6428), abs=1e-3)
    assert interval.high == pytest.approx(math.tanh(1.4722 + 1.6428), abs=1e-3)


def test_a_perfect_order_and_three_samples_have_no_interval() -> None:
    assert spearman_interval([1, 2, 3, 4], [1, 2, 3, 4]) is None
    assert spearman_interval([1, 2, 3], [1, 3, 2]) is None


def test_of_three_samples_or_a_line_pearson_has_no_interval() -> None:
    assert pearson_interval([1, 2, 3], [1, 3, 3]) is None
    assert pearson_interval([1, 2, 3, 4, 5], [2, 4, 6, 8, 10]) is None


def test_pearson_lies_in_its_interval() -> None:
    one = np.linspace(0, 1, 80)
    other = one + np.sin(np.arange(80)) / 3
    interval, value = pearson_interval(one, other), pearson(one, other)

    assert interval is not None
    assert value is not None
    assert interval.low < value < interval.high <= 1
