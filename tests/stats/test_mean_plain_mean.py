"""The mean of a few numbers, however large."""

import math

import pytest

from evalwright.stats.mean import plain_mean


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param([1, 2, 4.5], 2.5, id="numbers"),
        pytest.param([0.1] * 3, 0.1, id="equal numbers lose no digit"),
        pytest.param([1.7e308, 1.5e308], 1.6e308, id="a sum beyond the largest number"),
        pytest.param([1.0, math.inf], math.inf, id="infinite"),
        pytest.param([1e308, 1e308, 1.0, -math.inf], -math.inf, id="large, and infinite"),
        pytest.param([math.inf, -math.inf], None, id="no mean of two infinities"),
        pytest.param([1.0, math.nan], None, id="NaN"),
        pytest.param([], None, id="none"),
    ],
)
def test_the_mean_of(numbers: list[float], expected: float | None) -> None:
    assert plain_mean(numbers) == expected
