"""The interval of the mean of scores in [0, 1]: which method, and why.

    scores                     method       why
    none                       None         nothing was measured
    all 0 or 1                 wilson       exact enough at any n, has width at 0 % and 100 %
    all equal, graded          bound        the sample shows no spread; only a bound is honest
    graded, fewer than 20      bootstrap-t  BCa covers 50 % at n = 2, 75 % at n = 3
    graded, 20 or more         bca          bootstrap-t covers above 97 % for U-shaped scores

`bench/coverage.py` simulates how often each interval holds the true mean.
"""

import math

import numpy as np

from evalwright.stats.bootstrap import bca, bootstrap_t
from evalwright.stats.bound import EQUAL_WITHIN, constant_bound
from evalwright.stats.interval import Interval
from evalwright.stats.quantiles import expanded
from evalwright.stats.unit import Floats, Numbers, unit_values
from evalwright.stats.wilson import wilson

BCA_FROM = 20
"""The number of graded scores from which BCa covers better than bootstrap-t."""


def mean_interval(
    scores: Numbers, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval | None:
    """Return the interval of the mean, by the method that suits the scores.

        BCa at confidence 1 - 2Φ(-t), or bootstrap-t;  then cut to Wilson's interval of Σx of n

    Plain BCa covers 92.7 % for skewed scores at n = 20; asking it for Student's width
    (`expanded`) mends that. Wilson's interval caps both, because no scores in [0, 1] vary
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
    interval = _bootstrap(values, confidence=confidence, resamples=resamples, seed=seed)
    envelope = wilson(min(total, n), n, confidence=confidence)
    return _cut(interval, envelope, keep=total / n)


def _bootstrap(values: Floats, *, confidence: float, resamples: int, seed: int) -> Interval:
    if values.size < BCA_FROM:
        return bootstrap_t(values, confidence=confidence, resamples=resamples, seed=seed)
    level = expanded(confidence, values.size)
    return bca(values, confidence=level, resamples=resamples, seed=seed)


def _cut(interval: Interval, envelope: Interval, *, keep: float) -> Interval:
    low = min(max(interval.low, envelope.low), keep)
    high = max(min(interval.high, envelope.high), keep)
    return Interval(low, high, interval.method)
