"""Intervals, and those with a closed form: Wilson's of a proportion, a bound for equal values."""

import math
from collections.abc import Iterable

from msgspec import Struct

from evalwright.stats.quantiles import normal_quantile, tail


class Interval(Struct, frozen=True):
    """A confidence interval."""

    low: float
    high: float
    method: str
    """Method: `wilson`, `bca`, `bootstrap-t`, `bootstrap`, `student` or `bound`; in judge checks,
    also `asymptotic` (kappa of many labels) and `fisher-z` (Spearman)."""


Bounds = tuple[float | None, float | None]
"""The lowest and the highest value there can be; None where that is not known."""
UNBOUNDED: Bounds = (None, None)


def clip_interval(interval: Interval | None, bounds: Bounds) -> Interval | None:
    """Return the part of an interval that lies within bounds."""
    if interval is None or bounds == UNBOUNDED:
        return interval
    low, high = bounds
    return Interval(
        interval.low if low is None else max(low, interval.low),
        interval.high if high is None else min(high, interval.high),
        interval.method,
    )


def join_bounds(several: Iterable[Bounds]) -> Bounds:
    """Return the bounds that hold for all values, given those of each group."""
    lows, highs = zip(*several, strict=True)
    return (None if None in lows else min(lows), None if None in highs else max(highs))


def wilson(successes: float, n: int, *, confidence: float = 0.95) -> Interval:
    """Return the Wilson score interval for a proportion.

        center ± z·√(p(1-p)/n + z²/4n²), all over 1 + z²/n,  with  center = p + z²/2n

    Unlike the normal approximation p ± z·SE, this interval stays inside [0, 1] and has nonzero
    width at p = 0 and p = 1. `successes` may be fractional, such as a sum of graded scores. For a
    given mean, scores in [0, 1] vary most if they are zeros and ones, so the interval is
    conservative for graded scores.
    Wilson (1927), JASA 22(158), 209-212.

    >>> interval = ew.intervals.wilson(7, 10)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.397, 0.892)
    """
    if n < 1:
        raise ValueError(f"expected at least 1 trial, got `{n}`")
    if not 0 <= successes <= n:
        raise ValueError(f"expected successes from 0 to {n}, got `{successes}`")
    z2 = normal_quantile(confidence) ** 2
    p = successes / n
    center = p + z2 / (2 * n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n)))
    scale = 1 + z2 / n
    # At p = 0 and p = 1 the ends are exactly 0 and 1; rounding would leave 1e-17 of either.
    low = 0.0 if p == 0 else max(0.0, (center - half) / scale)
    high = 1.0 if p == 1 else min(1.0, (center + half) / scale)
    return Interval(low, high, "wilson")


EQUAL_WITHIN = 1e-9
"""Values closer than this are the same value: 0.1 + 0.2 and 0.3 are."""


def constant_bound(
    value: float, n: int, *, confidence: float = 0.95, floor: float = 0.0, ceiling: float = 1.0
) -> Interval:
    """Bound the mean of values in [floor, ceiling] of which n were seen, all equal to `value`.

        [value - q·(value - floor),  value + q·(ceiling - value)],  q = 1 - a^(1/(n-1)),
        a = 1 - confidence

    Resampling equal values gives equal means: a bootstrap would claim certainty. What n equal
    values do tell is that other values are rare. A value of share p is seen n times of n with
    chance p^n, and over all values with p < 1 - q these chances sum to less than
    (1-q)^(n-1) = a: so the others' share is below q, or something rarer than a has happened.
    How far off they lie is unknown, so they are put at the ends of the range. This holds for
    any distribution and any n; for n = 1 it is the whole range.
    The rule of three of Hanley & Lippman-Hand (1983), JAMA 249(13), for a value that was not
    named beforehand: hence n - 1 and not n.
    """
    if n < 1:
        raise ValueError(f"expected at least 1 value, got `{n}`")
    if not floor <= value <= ceiling:
        raise ValueError(f"expected a value in [{floor}, {ceiling}], got `{value}`")
    missed = 2 * tail(confidence)
    others = 1.0 if n == 1 else 1 - missed ** (1 / (n - 1))
    low = value - others * (value - floor)
    high = value + others * (ceiling - value)
    return Interval(max(floor, low), min(ceiling, high), "bound")
