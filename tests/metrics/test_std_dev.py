import pytest
from tests.metrics.cases import measure, of

FIELDS = {"type": "std_dev", "field": "x"}


def test_squares_are_divided_by_n_minus_1() -> None:
    found = measure(FIELDS, of([2, 4, 4, 4, 5, 5, 7, 9]))

    assert found.name == "x_std_dev"
    assert found.value == pytest.approx(2.13809, abs=1e-5)


def test_twenty_values_have_an_interval() -> None:
    found = measure(FIELDS, of([2, 4, 4, 4, 5, 5, 7, 9] * 3))

    assert found.interval is not None
    assert found.interval.low < 2.04 < found.interval.high


def test_the_example_of_the_format() -> None:
    found = measure(FIELDS, of([2 / 3, 1, 2 / 3, 1, 2 / 3]))

    assert found.value == pytest.approx(0.183, abs=5e-4)


@pytest.mark.parametrize(
    ("values", "value", "reason"),
    [
        pytest.param([], None, "there are no scores", id="none"),
        pytest.param(
            [3], None, "undefined: a standard deviation needs at least two values", id="one"
        ),
        pytest.param(
            [3, 3, 3], 0.0, "no interval: fewer than 20 values, or all are equal", id="equal"
        ),
    ],
)
def test_what_is_not_known(values: list[float], value: float | None, reason: str) -> None:
    found = measure(FIELDS, of(values))

    assert (found.value, found.interval, found.reason) == (value, None, reason)
