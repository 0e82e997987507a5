import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.quantiles import (
    normal_quantile,
    ordered_quantile,
    student_confidence,
    student_quantile,
)


@pytest.mark.parametrize(
    ("confidence", "expected"), [(0.90, 1.6449), (0.95, 1.9600), (0.99, 2.5758)]
)
def test_normal_quantiles_are_those_of_the_tables(confidence: float, expected: float) -> None:
    assert normal_quantile(confidence) == pytest.approx(expected, abs=5e-5)


# Abramowitz & Stegun (1964), table 26.10.
@pytest.mark.parametrize(
    ("confidence", "degrees", "expected", "relative"),
    [
        pytest.param(0.95, 1, 12.706, 1e-4, id="1 degree, exact"),
        pytest.param(0.99, 2, 9.925, 1e-4, id="2 degrees, exact"),
        pytest.param(0.95, 3, 3.182, 2e-3, id="3 degrees"),
        pytest.param(0.99, 3, 5.841, 1e-2, id="3 degrees, far out"),
        pytest.param(0.90, 4, 2.132, 1e-3, id="4 degrees"),
        pytest.param(0.99, 5, 4.032, 1e-3, id="5 degrees, far out"),
        pytest.param(0.95, 9, 2.262, 5e-4, id="9 degrees"),
        pytest.param(0.95, 19, 2.093, 5e-4, id="19 degrees"),
        pytest.param(0.99, 120, 2.617, 5e-4, id="120 degrees"),
    ],
)
def test_student_quantiles_are_those_of_the_tables(
    confidence: float, degrees: int, expected: float, relative: float
) -> None:
    assert student_quantile(confidence, degrees) == pytest.approx(expected, rel=relative)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1])
def test_a_confidence_is_between_0_and_1(confidence: float) -> None:
    with pytest.raises(ValueError, match="expected a confidence above 0 and below 1"):
        normal_quantile(confidence)


def test_no_degrees_of_freedom_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 degree of freedom, got `0`"):
        student_quantile(0.95, 0)


@given(st.floats(0.5, 0.99), st.integers(2, 10_000))
def test_few_values_need_a_higher_confidence_than_many(confidence: float, n: int) -> None:
    assert (
        confidence < student_confidence(confidence, n + 1) <= student_confidence(confidence, n) < 1
    )


def test_expanding_gives_the_width_of_student() -> None:
    assert normal_quantile(student_confidence(0.95, 20)) == pytest.approx(2.093, abs=1e-3)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        pytest.param(0.5, 3.0, id="the median"),
        pytest.param(0.25, 1.5, id="between the first and the second"),
        pytest.param(0.0, 1.0, id="never below the smallest"),
        pytest.param(1.0, 5.0, id="never above the largest"),
    ],
)
def test_quantiles_of_five_values(p: float, expected: float) -> None:
    assert ordered_quantile(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), p) == expected
