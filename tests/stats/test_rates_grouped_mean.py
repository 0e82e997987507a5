import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalwright.stats.interval import Interval
from evalwright.stats.mean import mean_interval
from evalwright.stats.rates import GROUP_RESAMPLES, grouped_mean_interval

values = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=30)


def found(values: list[float], groups: list[int] | None = None) -> Interval:
    interval = grouped_mean_interval(values, groups)
    assert interval is not None
    return interval


def test_of_nothing_there_is_none() -> None:
    assert grouped_mean_interval([]) is None


def test_without_groups_it_is_the_interval_of_the_mean() -> None:
    scores = [0.1, 0.4, 0.7, 0.2, 0.9]

    assert (
        found(scores)
        == found(scores, [7, 1, 3, 0, 2])
        == mean_interval(scores, resamples=GROUP_RESAMPLES)
    )


def test_equal_trials_of_a_record_are_no_more_than_one() -> None:
    rng = np.random.default_rng(0)
    once = rng.random(400)

    alone, often = (
        found(list(np.repeat(once, tries)), list(np.repeat(np.arange(400), tries)))
        for tries in (1, 5)
    )

    width = alone.high - alone.low
    assert often.low == pytest.approx(alone.low, abs=width / 10)
    assert often.high == pytest.approx(alone.high, abs=width / 10)


def test_a_group_of_three_weighs_three() -> None:
    interval = found([1.0, 1.0, 1.0, 0.0] * 20, [n // 4 * 2 + (n % 4 == 3) for n in range(80)])

    assert interval.low < 0.75 < interval.high


def test_many_values_have_the_interval_that_theory_says() -> None:
    """Student's and the normal one are the same here: mean ± 1.96·s/√n."""
    scores = np.random.default_rng(1).beta(2, 5, 20_000)
    half = 1.96 * scores.std() / np.sqrt(20_000)

    interval = found(list(scores))

    assert interval.low == pytest.approx(scores.mean() - half, abs=half / 10)
    assert interval.high == pytest.approx(scores.mean() + half, abs=half / 10)


def test_equal_values_have_a_bound_by_the_number_of_groups() -> None:
    interval = found([0.25] * 12, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])

    assert interval.method == "bound"
    assert interval.high - 0.25 == pytest.approx(0.75 * (1 - 0.05 ** (1 / 2)))


@settings(max_examples=50)
@given(values)
def test_it_holds_the_mean(rows: list[tuple[float, int]]) -> None:
    scores, groups = [one for one, _ in rows], [one for _, one in rows]

    interval = found(scores, groups)

    mean = sum(scores) / len(scores)
    assert 0 <= interval.low <= mean + 1e-9
    assert mean - 1e-9 <= interval.high <= 1


def test_one_group_a_value_is_needed() -> None:
    with pytest.raises(ValueError, match="one group per value, got 1 and 2"):
        grouped_mean_interval([0.5, 0.5], [1])
