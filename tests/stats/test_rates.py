import math

import numpy as np
import pytest

from evalwright.stats.rates import rate_interval


def test_two_units_have_the_interval_that_the_book_gives() -> None:
    # R = 5/3; residuals ∓2/3; se = √(2/1 · 8/9) / 3 = 4/9; t(0.975, 1) = 12.7062
    interval = rate_interval([1, 4], [1, 2])

    assert interval is not None
    assert interval.method == "student"
    assert interval.low == pytest.approx(5 / 3 - 12.7062 * 4 / 9, abs=1e-4)
    assert interval.high == pytest.approx(5 / 3 + 12.7062 * 4 / 9, abs=1e-4)


@pytest.mark.parametrize(("n", "method"), [(2, "student"), (4, "student"), (5, "bootstrap-t")])
def test_few_units_are_not_resampled(n: int, method: str) -> None:
    rng = np.random.default_rng(n)

    interval = rate_interval(rng.uniform(1, 2, n), rng.uniform(1, 2, n))

    assert interval is not None
    assert interval.method == method


@pytest.mark.parametrize(
    ("amounts", "sizes"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([3.0], [2.0], id="one unit"),
        pytest.param([2.0, 4.0, 6.0], [1.0, 2.0, 3.0], id="one rate"),
        pytest.param([0.1 + 0.2, 0.3], [1, 1], id="one rate, but for rounding"),
        pytest.param([1.0, math.inf], [1, 1], id="infinite"),
        pytest.param([1.0, 2.0], [0, 0], id="no size"),
    ],
)
def test_without_spread_there_is_no_interval(amounts: list[float], sizes: list[float]) -> None:
    assert rate_interval(amounts, sizes) is None


def test_equal_sizes_make_it_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(1).normal(3, 0.5, 400)
    error = values.std(ddof=1) / 20

    interval = rate_interval(values, np.ones(400))

    assert interval is not None
    assert interval.low == pytest.approx(values.mean() - 1.966 * error, abs=0.15 * error)
    assert interval.high == pytest.approx(values.mean() + 1.966 * error, abs=0.15 * error)


def test_the_order_of_the_units_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    amounts, sizes = rng.lognormal(3, 1, 50), rng.lognormal(5, 1, 50)
    order = rng.permutation(50)

    assert rate_interval(amounts, sizes, seed=4) == rate_interval(
        amounts[order], sizes[order], seed=4
    )


def test_many_units_have_the_same_interval_by_the_road_for_many() -> None:
    """From 2,001 units on the sums of a resample are drawn, not the units."""
    rng = np.random.default_rng(3)
    sizes = np.round(200 * rng.lognormal(0, 1, 2001))
    amounts = sizes * rng.normal(3, 0.5, 2001)

    many = rate_interval(amounts, sizes)
    fewer = rate_interval(amounts[:2000], sizes[:2000])

    assert many is not None
    assert fewer is not None
    width = fewer.high - fewer.low
    assert many.low == pytest.approx(fewer.low, abs=0.1 * width)
    assert many.high == pytest.approx(fewer.high, abs=0.1 * width)


def test_an_end_stays_within_three_of_students_half_widths() -> None:
    amounts, sizes = [3.0] * 6 + [30.0], [1.0] * 6 + [9.0]

    interval = rate_interval(amounts, sizes)

    assert interval is not None
    rate = sum(amounts) / sum(sizes)
    residuals = [a - rate * s for a, s in zip(amounts, sizes, strict=True)]
    error = math.sqrt(7 / 6 * sum(one**2 for one in residuals)) / sum(sizes)
    assert rate - interval.low <= 3 * 2.4469 * error + 1e-4
    assert interval.high - rate <= 3 * 2.4469 * error + 1e-4
