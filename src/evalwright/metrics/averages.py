"""The average of numbers, and its interval."""

import math

import numpy as np

from evalwright.metrics.base import NOTHING, told
from evalwright.metrics.measure import Measure
from evalwright.stats.any_mean import any_mean_interval
from evalwright.stats.plain_mean import LARGEST, plain_mean
from evalwright.stats.unit import Floats


def averaged(name: str, values: Floats, absent: str, *, seed: int) -> Measure:
    """The average under a name; `absent` says what was left out."""
    n = int(values.size)
    if not n:
        return Measure(name, None, None, 0, absent or NOTHING)
    if not np.isfinite(values).all():
        return Measure(name, None, None, n, told("some values are infinite", absent))
    if max(float(values.max()), -float(values.min())) > LARGEST:
        why = told("no interval: the values are too large to be squared", absent)
        return Measure(name, plain_mean(values.tolist()), None, n, why)
    ones = int(np.count_nonzero(values == 1))
    binary = ones + int(np.count_nonzero(values == 0)) == n
    total = float(ones) if binary else math.fsum(values)
    interval = any_mean_interval(values, seed=seed)
    why = "" if interval else "no interval: the values show no spread"
    return Measure(name, total / n, interval, n, told(why, absent))
