import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.mean import mean_interval
from evalwright.stats.pass_at_k import (
    pass_at_k,
    pass_at_k_interval,
    pass_at_k_of_rate,
    pass_hat_k,
)

counts = st.integers(1, 200).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
)


def published(n: int, c: int, k: int) -> float:
    """Chen et al. (2021), figure 3: the product form."""
    if n - c < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / i for i in range(n - c + 1, n + 1))


# By hand, from 1 - C(n-c, k) / C(n, k).
@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        pytest.param(5, 2, 2, 0.7, id="1 - 3/10"),
        pytest.param(10, 3, 1, 0.3, id="k = 1 is the pass rate"),
        pytest.param(4, 2, 3, 1.0, id="too few failures for k"),
        pytest.param(4, 0, 3, 0.0, id="never passed"),
        pytest.param(1000, 1, 1, 0.001, id="no digits lost"),
    ],
)
def test_estimates_by_hand(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == expected


@given(counts)
def test_it_is_the_published_product(count: tuple[int, int, int]) -> None:
    assert pass_at_k(*count) == pytest.approx(published(*count), abs=1e-12)


@given(counts)
def test_more_passes_and_more_attempts_never_hurt(count: tuple[int, int, int]) -> None:
    n, c, k = count

    value = pass_at_k(n, c, k)

    assert 0 <= value <= 1
    assert c == n or value <= pass_at_k(n, c + 1, k)
    assert k == n or value <= pass_at_k(n, c, k + 1)


def test_thousands_of_attempts_are_exact() -> None:
    assert pass_at_k(10_000, 5000, 5000) == 1
    assert pass_at_k(10_000, 1, 5000) == 0.5


@pytest.mark.parametrize(
    ("n", "c", "k", "message"),
    [
        pytest.param(0, 0, 1, "at least 1 trial, got n = `0`", id="no attempts"),
        pytest.param(3, 4, 1, "from 0 to 3, got c = `4`", id="more passes than attempts"),
        pytest.param(3, -1, 1, "from 0 to 3, got c = `-1`", id="negative passes"),
        pytest.param(3, 1, 0, "k from 1 to the 3 trials, got k = `0`", id="k of 0"),
        pytest.param(3, 1, 4, "k from 1 to the 3 trials, got k = `4`", id="k above n"),
    ],
)
def test_impossible_counts_are_refused(n: int, c: int, k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pass_at_k(n, c, k)


def test_the_interval_is_over_samples_not_attempts() -> None:
    rows = [(10, passes) for passes in (0, 2, 5, 9, 10)]

    interval = pass_at_k_interval(rows, 1, seed=3)

    assert interval == mean_interval([0.0, 0.2, 0.5, 0.9, 1.0], seed=3)


def test_no_samples_have_no_interval() -> None:
    assert pass_at_k_interval([], 1) is None


# By hand. The first two are those of the format's own page: 3 of 5 trials, k = 5.
@pytest.mark.parametrize(
    ("rate", "k", "one", "every"),
    [
        pytest.param(0.6, 5, 0.98976, 0.07776, id="3 of 5, k = 5"),
        pytest.param(0.6, 2, 0.84, 0.36, id="3 of 5, k = 2"),
        pytest.param(0.6, 1, 0.6, 0.6, id="k = 1 is the rate"),
        pytest.param(0.0, 7, 0.0, 0.0, id="never"),
        pytest.param(1.0, 7, 1.0, 1.0, id="always"),
    ],
)
def test_rates_by_hand(rate: float, k: int, one: float, every: float) -> None:
    assert pass_at_k_of_rate(rate, k) == pytest.approx(one, abs=1e-12)
    assert pass_hat_k(rate, k) == pytest.approx(every, abs=1e-12)


@given(counts)
def test_the_plug_in_estimates_are_below_and_above_the_unbiased_ones(
    count: tuple[int, int, int],
) -> None:
    n, c, k = count

    assert pass_at_k_of_rate(c / n, k) <= pass_at_k(n, c, k) + 1e-12
    assert pass_hat_k(c / n, k) >= math.comb(c, k) / math.comb(n, k) - 1e-12


def test_by_as_much_as_the_docstring_says() -> None:
    assert [pass_at_k(5, 3, 2), pass_at_k(50, 30, 2)] == pytest.approx([0.9, 0.845], abs=1e-3)
    assert math.comb(3, 2) / math.comb(5, 2) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("rate", "k", "match"), [(1.5, 1, "a rate from 0 to 1"), (0.5, 0, "k from 1")]
)
def test_a_rate_outside_its_range_is_refused(rate: float, k: int, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        pass_at_k_of_rate(rate, k)
    with pytest.raises(ValueError, match=match):
        pass_hat_k(rate, k)
