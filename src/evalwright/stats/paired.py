"""The difference between two models on the same tasks.

Two models fail on the same hard tasks, so their intervals overlap long after the difference
is certain. The difference of each task takes the hardness out.

Promises:   `paired_difference(b, a)` is exactly the mirror of `paired_difference(a, b)`;
            a difference is called significant when its interval excludes zero: for two equal
            models about 5 % of the time at 95 %, less when most tasks are tied.
Does not:   correct for many comparisons. Of twenty pairs of equal models, one looks different.
"""

import math

import numpy as np
from msgspec import Struct

from evalwright.stats.bootstrap import percentile
from evalwright.stats.bound import EQUAL_WITHIN, constant_bound
from evalwright.stats.quantiles import expanded, student_quantile
from evalwright.stats.unit import Floats, Numbers, unit_values

_ZERO_WITHIN = 1e-12
"""An end of an interval closer to zero than this is zero: resampling adds up rounding errors."""


class PairedDifference(Struct, frozen=True):
    """Mean of a - b over the tasks, and its interval. All None when there are no tasks."""

    difference: float | None
    low: float | None
    high: float | None
    significant: bool
    """The interval excludes zero. If not, the two are tied."""
    n: int


def paired_difference(
    a: Numbers, b: Numbers, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> PairedDifference:
    """Return the mean of a - b, with an interval from the differences of each task.

        d = a - b;  the wider of  percentile bootstrap of mean(d) at confidence 1 - 2Φ(-t)
        and  mean(d) ± t·s/√n,  t = Student's quantile with n - 1 degrees of freedom

    Each alone fails where the other holds. Of equal models at 95 % (`bench/coverage.py`), the
    bootstrap calls 8 % different when 70 % of 20 tasks are tied, and Student's t 11 % when one
    model fails badly on a tenth of 50 tasks; both agree on 5 % or less in either case. The
    plain percentile bootstrap calls 10 % different at n = 10, BCa 14 % with 70 % of 20 tied.
    Equal differences are no proof: n of them give `constant_bound` over [-1, 1], which excludes
    zero from 6 wins of 6 on, as the sign test does.
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13; Hesterberg (2015),
    The American Statistician 69(4); Student (1908), Biometrika 6(1).
    """
    differences = _differences(a, b)
    n = differences.size
    if not n:
        return PairedDifference(None, None, None, significant=False, n=0)
    mean = math.fsum(differences) / n
    if np.ptp(differences) <= EQUAL_WITHIN:
        interval = constant_bound(mean, n, confidence=confidence, floor=-1.0)
        return _judged(mean, interval.low, interval.high, n=n)
    sign, oriented = _oriented(differences)
    level = expanded(confidence, n)
    interval = percentile(oriented, confidence=level, resamples=resamples, seed=seed)
    low, high = sorted((sign * interval.low, sign * interval.high))
    half = student_quantile(confidence, n - 1) * float(np.std(oriented, ddof=1)) / math.sqrt(n)
    return _judged(mean, min(low, mean - half), max(high, mean + half), n=n)


def _differences(a: Numbers, b: Numbers) -> Floats:
    left, right = unit_values(a, "a"), unit_values(b, "b")
    if left.size != right.size:
        raise ValueError(f"expected one score a task in both, got {left.size} and {right.size}")
    return np.sort(left - right)


def _oriented(ordered: Floats) -> tuple[float, Floats]:
    """Return the same values for `a - b` and `b - a`, and the sign that tells them apart."""
    mirrored = -ordered[::-1]
    unequal = np.flatnonzero(ordered != mirrored)
    if not unequal.size or ordered[unequal[0]] > mirrored[unequal[0]]:
        return 1.0, ordered
    return -1.0, mirrored


def _judged(mean: float, low: float, high: float, *, n: int) -> PairedDifference:
    low, high = _snapped(max(low, -1.0)), _snapped(min(high, 1.0))
    return PairedDifference(mean, low, high, significant=low > 0 or high < 0, n=n)


def _snapped(end: float) -> float:
    return 0.0 if abs(end) < _ZERO_WITHIN else end
