"""The interval of the mean of values in [0, 1] that may come in groups.

    values                       method        why
    none                         None          nothing was measured
    no groups, up to 2,000       mean          the method that suits them
    groups, or more values       bootstrap     of a ratio of sums: groups are drawn whole
    all equal                    bound         by the number of groups

Trials of one record are alike, so they are no more evidence about other records: a group is drawn
or is not.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evalwright.stats.bound import constant_bound
from evalwright.stats.interval import Interval
from evalwright.stats.mean import mean_interval
from evalwright.stats.sums import sums_interval
from evalwright.stats.unit import Floats, Numbers, unit_values

RESAMPLES = 2_000
"""Enough for ends that are shown with two digits."""
_MOST_ALONE = 2_000
"""Values beyond which sums, which are as good as normal then, are a hundred times cheaper."""


def grouped_mean_interval(
    values: Numbers,
    groups: Sequence[int] | NDArray[np.int64] | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """Return the interval of the mean over all values; `groups` says which belong together.

        mean_interval of the values, or sums_interval of (Σ values of a group) / (Σ their number)

    The mean is over values and not over groups: a group of three weighs three.
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 3.8 (strategy 1).
    """
    every = unit_values(values)
    if not every.size:
        return None
    sums, sizes = _by_group(every, groups)
    if sums.size == every.size <= _MOST_ALONE:
        return mean_interval(every, confidence=confidence, resamples=RESAMPLES, seed=seed)
    mean = math.fsum(every) / every.size
    found = sums_interval(
        np.column_stack([sums, sizes]),
        np.ones(sums.size, dtype=np.int64),
        lambda rows: rows[:, 0] / rows[:, 1],
        confidence=confidence,
        resamples=RESAMPLES,
        seed=seed,
    )
    if found is None:
        return constant_bound(mean, sums.size, confidence=confidence)
    low, high = max(0.0, min(found.low, mean)), min(1.0, max(found.high, mean))
    return Interval(low, high, found.method)


def _by_group(
    values: Floats, groups: Sequence[int] | NDArray[np.int64] | None
) -> tuple[Floats, Floats]:
    """Of each group the sum and the number of its values, in an order that says nothing."""
    if groups is None:
        return np.sort(values), np.ones(values.size)
    _, index = np.unique(np.asarray(groups), return_inverse=True)
    if index.size != values.size:
        raise ValueError(f"expected one group a value, got {index.size} and {values.size}")
    sums = np.bincount(index, weights=values).astype(np.float64)
    sizes = np.bincount(index).astype(np.float64)
    order = np.lexsort((sizes, sums))
    return sums[order], sizes[order]
