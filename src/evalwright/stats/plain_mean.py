"""The mean of a few numbers that may be as large as numbers get."""

import math
from collections.abc import Sequence

LARGEST = 1e150
"""Numbers up to here have squares, and sums of squares: a spread can be told."""


def plain_mean(numbers: Sequence[float]) -> float | None:
    """The sum, exactly, over how many there are; None where there is none, as of ±infinity.

    Equal numbers give that number back, which a sum and a division might not. Where the sum is
    beyond the largest float, the mean is not: each is divided first.
    """
    if not numbers or any(map(math.isnan, numbers)):
        return None
    if len(set(numbers)) == 1:
        return float(numbers[0])
    if not all(map(math.isfinite, numbers)):
        mean = sum(one for one in numbers if math.isinf(one))
        return None if math.isnan(mean) else mean
    try:
        return math.fsum(numbers) / len(numbers)
    except OverflowError:
        return math.fsum(one / len(numbers) for one in numbers)
