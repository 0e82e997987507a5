"""The mean and its interval: which method, and why.

    scores in [0, 1]           method       why
    none                       None         nothing was measured
    all 0 or 1                 wilson       exact enough at any n, has width at 0 % and 100 %
    all equal, graded          bound        the sample shows no spread; only a bound is honest
    graded, fewer than 20      bootstrap-t  BCa covers 50 % at n = 2, 75 % at n = 3
    graded, 20 or more         bca          bootstrap-t covers above 97 % for U-shaped scores

    numbers of any range
    one, or all equal          None         they show no spread, and no range bounds it
    fewer than 5               student      too few to resample
    fewer than 20              bootstrap-t  as for scores in [0, 1], with its ends capped
    20 or more                 bca          at Student's width

`bench/coverage.py` simulates how often each interval holds the true mean.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

from evalwright.stats.arrays import Floats, Numbers, np, unit_values
from evalwright.stats.bootstrap import bca, bootstrap_t
from evalwright.stats.interval import (
    EQUAL_WITHIN,
    UNBOUNDED,
    Bounds,
    Interval,
    clip_interval,
    constant_bound,
    wilson,
)
from evalwright.stats.quantiles import student_confidence, student_quantile

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
        mean = sum(number for number in numbers if math.isinf(number))
        return None if math.isnan(mean) else mean
    try:
        return math.fsum(numbers) / len(numbers)
    except OverflowError:
        return math.fsum(number / len(numbers) for number in numbers)


BCA_FROM = 20
"""The number of graded scores from which BCa covers better than bootstrap-t."""


def mean_interval(
    scores: Numbers, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval | None:
    """Return the interval of the mean, by the method that suits the scores.

        BCa at confidence 1 - 2Φ(-t), or bootstrap-t;  then cut to Wilson's interval of Σx of n

    Plain BCa covers 92.7 % for skewed scores at n = 20; asking it for Student's width
    (`student_confidence`) mends that. Wilson's interval caps both, because no scores in [0, 1] vary
    more than zeros and ones of the same mean: graded scores are never less certain than
    binary ones, and the end that bootstrap-t leaves open is closed.
    DiCiccio & Efron (1996), Statistical Science 11(3); Hesterberg (2015), The American
    Statistician 69(4).
    """
    values = unit_values(scores)
    n = values.size
    if not n:
        return None
    total = math.fsum(values)
    if np.all((values == 0) | (values == 1)):
        return wilson(total, n, confidence=confidence)
    if np.ptp(values) <= EQUAL_WITHIN:
        return constant_bound(total / n, n, confidence=confidence)
    if n < BCA_FROM:
        interval = bootstrap_t(values, confidence=confidence, resamples=resamples, seed=seed)
    else:
        level = student_confidence(confidence, n)
        interval = bca(values, confidence=level, resamples=resamples, seed=seed)
    mean, envelope = total / n, wilson(min(total, n), n, confidence=confidence)
    low = min(max(interval.low, envelope.low), mean)
    high = max(min(interval.high, envelope.high), mean)
    return Interval(low, high, interval.method)


RESAMPLED_FROM = 5
"""Below it more than one resample in a hundred consists of one value only. Of five
values, resampling covers the mean of grades in 94 % and Student in 89 %; of exponential numbers, in
91 % and 87 %."""
MOST_STUDENTS = 3
"""How many of Student's half widths an end of bootstrap-t may lie away."""


class Average(Struct, frozen=True):
    """The mean of some numbers and its interval."""

    mean: float | None
    """None where there are no numbers."""
    interval: Interval | None
    reason: str = ""
    """Why there is no interval."""


def average(values: Floats, *, seed: int = 0, bounds: Bounds = UNBOUNDED) -> Average:
    """Return the mean of finite numbers, with the interval that suits them.

    Zeros and ones are counted, others summed exactly: equal numbers have equal means everywhere.
    The interval stays within the bounds.
    """
    n = int(values.size)
    if not n:
        return Average(None, None)
    smallest, largest = float(values.min()), float(values.max())
    if max(largest, -smallest) > LARGEST:
        mean = plain_mean(values.tolist())
        return Average(mean, None, "no interval: the values are too large to be squared")
    ones = int(np.count_nonzero(values == 1))
    binary = ones + int(np.count_nonzero(values == 0)) == n
    total = float(ones) if binary else math.fsum(values)
    interval = clip_interval(any_mean_interval(values, seed=seed), bounds)
    # The sum of equal numbers, divided, may be a hair away from them.
    mean = smallest if smallest == largest else total / n
    return Average(mean, interval, "" if interval else "no interval: the values show no spread")


def any_mean_interval(
    numbers: Numbers, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval | None:
    """Return the interval of the mean by the method that suits the numbers; None if none does.

        mean ± t·s/√n below 5;  bootstrap-t, at most 3 t·s/√n away, below 20;  then BCa

    Numbers without bounds have no envelope such as Wilson's. A resample of equal values sends an
    end of bootstrap-t far away: Student's half width, three times, stops it.
    Student (1908), Biometrika 6(1); Efron & Tibshirani (1993), section 12.5, for its instability.
    """
    values = np.asarray(numbers, dtype=np.float64)
    n = values.size
    ones = int(np.count_nonzero(values == 1))
    if n and ones + int(np.count_nonzero(values == 0)) == n:  # the same as below, without a sum
        return wilson(ones, n, confidence=confidence)
    if not n or (values.min() >= 0 and values.max() <= 1):
        return mean_interval(values, confidence=confidence, resamples=resamples, seed=seed)
    scale = max(1.0, float(np.abs(values).max()))
    if n == 1 or np.ptp(values) <= EQUAL_WITHIN * scale:
        return None
    if n >= BCA_FROM:
        return bca(
            values, confidence=student_confidence(confidence, n), resamples=resamples, seed=seed
        )
    student = student_interval(values, confidence=confidence)
    if n < RESAMPLED_FROM:
        return student
    drawn = bootstrap_t(values, confidence=confidence, resamples=resamples, seed=seed)
    far = (MOST_STUDENTS - 1) * (student.high - student.low) / 2
    return Interval(
        max(drawn.low, student.low - far), min(drawn.high, student.high + far), drawn.method
    )


def student_interval(values: Floats, *, confidence: float = 0.95) -> Interval:
    """Return Student's interval of a mean, whatever the number of values; at least two.

        mean ± t·s/√n,  t of n - 1 degrees of freedom

    Student (1908), Biometrika 6(1).
    """
    mean = math.fsum(values) / values.size
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = student_quantile(confidence, values.size - 1) * error
    return Interval(mean - half, mean + half, "student")
