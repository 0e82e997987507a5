import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.interval import wilson

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


# Newcombe (1998), Statistics in Medicine 17(8), table I, method 3.
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        pytest.param(81, 263, 0.2553, 0.3662, id="81 of 263"),
        pytest.param(15, 148, 0.0624, 0.1605, id="15 of 148"),
        pytest.param(0, 20, 0.0, 0.1611, id="none of 20"),
        pytest.param(1, 29, 0.0061, 0.1718, id="1 of 29"),
    ],
)
def test_published_intervals(successes: int, n: int, low: float, high: float) -> None:
    interval = wilson(successes, n)

    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)


def test_ten_of_ten_is_not_certainty() -> None:
    interval = wilson(10, 10)

    assert interval.low == pytest.approx(0.7225, abs=5e-5)
    assert interval.high == 1


@given(counts)
def test_it_holds_the_proportion_and_has_width(count: tuple[int, int]) -> None:
    successes, n = count

    interval = wilson(successes, n)

    assert 0 <= interval.low <= successes / n <= interval.high <= 1
    assert interval.low < interval.high


@given(counts)
def test_counting_failures_mirrors_it(count: tuple[int, int]) -> None:
    successes, n = count

    right, wrong = wilson(successes, n), wilson(n - successes, n)

    assert right.low == pytest.approx(1 - wrong.high)
    assert right.high == pytest.approx(1 - wrong.low)


@given(counts)
def test_more_confidence_is_wider(count: tuple[int, int]) -> None:
    successes, n = count

    narrow, wide = (wilson(successes, n, confidence=c) for c in (0.9, 0.99))

    assert wide.low <= narrow.low <= narrow.high <= wide.high


@pytest.mark.parametrize(
    ("successes", "n", "message"),
    [
        pytest.param(0, 0, "at least 1 trial, got `0`", id="no trials"),
        pytest.param(3, 2, "from 0 to 2, got `3`", id="more successes than trials"),
        pytest.param(-1, 2, "from 0 to 2, got `-1`", id="negative"),
    ],
)
def test_impossible_counts_are_refused(successes: int, n: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wilson(successes, n)
