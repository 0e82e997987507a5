import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.interval import constant_bound

values = st.floats(0, 1)


# By hand: q = 1 - 0.05^(1/(n-1)).
@pytest.mark.parametrize(
    ("value", "n", "low", "high"),
    [
        pytest.param(0.5, 1, 0.0, 1.0, id="one value tells nothing about the others"),
        pytest.param(0.5, 2, 0.025, 0.975, id="two: q = 0.95"),
        pytest.param(0.5, 3, 0.1118, 0.8882, id="three: q = 1 - sqrt(0.05) = 0.7764"),
        pytest.param(0.8, 10, 0.5735, 0.8566, id="ten: q = 0.2831"),
        pytest.param(0.0, 101, 0.0, 0.0295, id="a hundred and one: q = 0.0295, three in a hundred"),
    ],
)
def test_bounds_by_hand(value: float, n: int, low: float, high: float) -> None:
    interval = constant_bound(value, n)

    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
    assert interval.method == "bound"


# The chance to see n values that are all equal, and yet have the mean outside the bound, is
# largest when the seen value is as common as the bound allows and the rest lies at one end.
@given(st.floats(0, 1), st.integers(2, 200), st.floats(0, 1))
def test_it_fails_less_often_than_it_says(value: float, n: int, share: float) -> None:
    interval = constant_bound(value, n)
    mean = share * value + (1 - share) * 1.0  # all other values are 1

    missed = share**n if mean > interval.high + 1e-12 else 0.0

    assert missed <= 0.05


@given(values, st.integers(1, 10_000))
def test_it_holds_the_value_and_has_width(value: float, n: int) -> None:
    interval = constant_bound(value, n)

    assert 0 <= interval.low <= value <= interval.high <= 1
    assert interval.low < interval.high


@given(st.integers(1, 1000))
def test_more_values_say_more(n: int) -> None:
    few, many = constant_bound(0.3, n), constant_bound(0.3, n + 1)

    assert few.low <= many.low <= many.high <= few.high


def test_differences_have_a_wider_range() -> None:
    interval = constant_bound(0.0, 3, floor=-1.0)

    assert (interval.low, interval.high) == pytest.approx((-0.7764, 0.7764), abs=5e-5)


@pytest.mark.parametrize(
    ("value", "n", "message"),
    [
        pytest.param(0.5, 0, "at least 1 value, got `0`", id="no values"),
        pytest.param(1.5, 3, r"a value in \[0.0, 1.0\], got `1.5`", id="outside the range"),
    ],
)
def test_what_cannot_be_bounded_is_refused(value: float, n: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        constant_bound(value, n)
