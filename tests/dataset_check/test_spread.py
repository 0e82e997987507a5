"""Extremes, the mean, and outliers of a stream of numbers."""

from random import Random

from evalwright.dataset_check.spread import SAMPLE, Extreme, Spread


def spread_of(*numbers: float) -> Spread:
    spread = Spread()
    for position, number in enumerate(numbers, start=1):
        spread.add(number, position)
    return spread


def test_extremes_have_their_positions() -> None:
    spread = spread_of(*range(100), -500, 900)

    assert spread.lowest[0] == Extreme(-500, 101)
    assert spread.highest[-1] == Extreme(900, 102)
    assert spread.outliers() == [Extreme(-500, 101), Extreme(900, 102)]
    assert spread.mean == (sum(range(100)) + 400) / 102


def test_few_numbers_and_equal_numbers_have_no_outliers() -> None:
    assert spread_of(1, 2, 1000).outliers() == []
    assert spread_of(*[7] * 50, 1000).outliers() == []
    assert Spread().mean is None


def test_the_sample_of_a_long_stream_is_a_fair_one() -> None:
    numbers = [n / 30_000 for n in range(30_000)]
    Random(1).shuffle(numbers)
    spread = spread_of(*numbers)

    sample = spread._sample
    assert len(sample) == SAMPLE
    # The mean of 2,000 uniform numbers has a standard error of 0.0065.
    assert abs(sum(sample) / SAMPLE - 0.5) < 0.03
    assert sample == spread_of(*numbers)._sample, "the same each time"
