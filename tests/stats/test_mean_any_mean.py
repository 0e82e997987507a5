import math

import numpy as np
import pytest

from evalwright.stats.mean import any_mean_interval, mean_interval


def test_student_of_three_values_is_the_published_one() -> None:
    # t(0.975, 2) = 4.302653; s/√n = 1/√3
    interval = any_mean_interval([1, 2, 3])

    assert interval is not None
    assert interval.method == "student"
    assert interval.low == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-5)
    assert interval.high == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-5)


@pytest.mark.parametrize(
    ("values", "method"),
    [
        pytest.param([0, 1, 1], "wilson", id="binary"),
        pytest.param([0.2, 0.4, 0.6], "bootstrap-t", id="in the unit interval"),
        pytest.param([3.0, 3.5], "student", id="two"),
        pytest.param([3.0, 3.5, 1, 2], "student", id="four"),
        pytest.param([3.0, 3.5, 1, 2, 7], "bootstrap-t", id="five"),
        pytest.param(list(range(20)), "bca", id="twenty"),
    ],
)
def test_the_method_suits_the_numbers(values: list[float], method: str) -> None:
    interval = any_mean_interval(values)

    assert interval is not None
    assert interval.method == method


@pytest.mark.parametrize("values", [[], [7.0], [7.0] * 50, [1e9, 1e9 + 1e-3]])
def test_without_spread_there_is_no_interval(values: list[float]) -> None:
    assert any_mean_interval(values) is None


def test_scores_in_the_unit_interval_have_the_interval_of_scores() -> None:
    values = [0.1 * (i % 9) for i in range(40)]

    assert any_mean_interval(values, seed=3) == mean_interval(values, seed=3)


def test_an_end_of_bootstrap_t_stays_within_three_students() -> None:
    values = [5.0] * 6 + [6.0]
    interval = any_mean_interval(values)
    mean, error = 36 / 7, math.sqrt((6 * (1 / 7) ** 2 + (6 / 7) ** 2) / 6 / 7)

    assert interval is not None
    assert mean - 3 * 2.4469 * error - 1e-3 <= interval.low < mean < interval.high
    assert interval.high <= mean + 3 * 2.4469 * error + 1e-3


@pytest.mark.parametrize("n", [4, 10, 30])
def test_it_covers_the_mean_of_grades_about_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(n)
    grades, shares = [1.0, 2.0, 3.0, 4.0, 5.0], [0.05, 0.1, 0.15, 0.3, 0.4]
    found = [any_mean_interval(rng.choice(grades, n, p=shares), resamples=500) for _ in range(200)]

    covered = [one.low <= 3.9 <= one.high for one in found if one]
    assert sum(covered) / len(covered) > 0.9
