import math

import numpy as np
import pytest

from evalwright.stats.deviation import deviation, deviation_interval


def test_the_deviation_of_a_textbook_sample() -> None:
    # Σ(x - 5)² = 32, n - 1 = 7
    assert deviation(np.asarray([2.0, 4, 4, 4, 5, 5, 7, 9])) == math.sqrt(32 / 7)


@pytest.mark.parametrize(
    "values", [[1.0] * 30, list(map(float, range(19)))], ids=["all equal", "nineteen"]
)
def test_without_enough_to_see_there_is_no_interval(values: list[float]) -> None:
    assert deviation_interval(np.asarray(values)) is None


def test_two_values_have_the_deviation_of_their_share() -> None:
    interval = deviation_interval(np.asarray([0.0] * 50 + [10.0] * 50))

    assert interval is not None
    assert interval.method == "wilson"
    assert interval.high == pytest.approx(5 * math.sqrt(100 / 99))
    assert interval.low == pytest.approx(4.93, abs=0.01)  # 10·√(0.404·0.596)·√(100/99)


def test_it_keeps_the_value_and_its_upper_end_is_capped() -> None:
    values = np.asarray([1.0] * 20 + [2.0, 1000.0])
    interval = deviation_interval(values)

    assert interval is not None
    assert interval.low <= deviation(values) <= interval.high
    assert interval.high <= 5 * deviation(values) + 1e-9


def test_scale_and_place_do_not_matter() -> None:
    values = np.random.default_rng(0).normal(size=50)
    one, other = deviation_interval(values), deviation_interval(1e6 * values + 1e7)

    assert one is not None
    assert other is not None
    assert other.low == pytest.approx(1e6 * one.low, rel=1e-4)
    assert other.high == pytest.approx(1e6 * one.high, rel=1e-4)


@pytest.mark.parametrize("n", [20, 40])
def test_it_covers_the_deviation_of_normal_values_about_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(n)
    found = [deviation_interval(rng.normal(5, 2, n)) for _ in range(100)]

    assert sum(one.low <= 2 <= one.high for one in found if one) >= 88
