"""The interval of a ratio of sums over units: nats per token, bits per byte, a mean over groups.

    units of a rate             method       why
    one, or all of one rate     None         they show no spread, and nothing bounds it
    fewer than 5                student      too few to resample
    5 or more                   bootstrap-t  of whole units: what is in one hangs together

    values in [0, 1]
    none                        None         nothing was measured
    no groups, up to 2,000      mean         the method that suits them
    groups, or more values      bootstrap    of a ratio of sums: groups are drawn whole
    all equal                   bound        by the number of groups

Trials of one record are alike, so they are no more evidence about other records: a group is drawn
or is not.

Promises:  the same interval for the same seed, in any order of the units; a third of a second for
           2,000 units, two seconds for a million.
Does not:  help where a few units are nearly all of the sum below: it is as if there were as few of
           them (`bench/coverage.py rates` says how much is lost).
"""

import math
from collections.abc import Sequence

from evalwright.stats.arrays import Floats, Integers, Numbers, np, unit_values
from evalwright.stats.interval import EQUAL_WITHIN, Interval, constant_bound
from evalwright.stats.mean import MOST_STUDENTS, RESAMPLED_FROM, mean_interval
from evalwright.stats.quantiles import ordered_quantile, student_quantile, tail
from evalwright.stats.sums import RESAMPLES, distinct, resampled_sums, sums_interval

_LEAST_VARIANCE = 1e-20
"""Far below any real spread: it stands in for the 0 of a resample of one unit."""


def rate_interval(
    amounts: Numbers,
    sizes: Numbers,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Return the interval of Σ amounts / Σ sizes over units; None if they show no spread.

        [R - t(1 - a/2)·se,  R - t(a/2)·se],   t = quantiles of (R* - R) / se*,   a = 1 - confidence
        R = Σ amounts / Σ sizes,   se² = n/(n-1) · Σ (amount - R·size)² / (Σ sizes)²

    Units are resampled whole, and each resample is measured by its own error: long and short units
    make the error as uncertain as the rate, and a percentile interval does not see that (at 20
    documents of uneven length it holds 87 to 91 of 100, this one 90 to 94). An end is at most
    three of Student's half widths away.
    Cochran (1977), Sampling Techniques, 3rd edition, section 6.4, for the error of a ratio; Efron &
    Tibshirani (1993), An Introduction to the Bootstrap, section 12.5, for the rest.
    """
    units = np.column_stack([np.asarray(amounts, dtype=float), np.asarray(sizes, dtype=float)])
    n = len(units)
    if n < 2 or not np.isfinite(units).all() or not units[:, 1].sum() > 0:  # noqa: PLR2004 - one unit has no spread
        return None
    rows, counts = distinct(units)
    above, below = counts @ rows
    rate = float(above / below)
    apart = rows[:, 0] - rate * rows[:, 1]
    spread = math.sqrt(n / (n - 1) * float(counts @ apart**2))
    error = spread / float(below)
    if error <= EQUAL_WITHIN * abs(rate):
        return None
    half = student_quantile(confidence, n - 1) * error
    if n < RESAMPLED_FROM:
        return Interval(rate - half, rate + half, "student")
    apart, weights = apart / spread, rows[:, 1] / below
    # All that the sums of a resample must hold to know its rate and its error.
    parts = np.column_stack([apart, weights, apart**2, apart * weights, weights**2])
    sums = resampled_sums(parts, counts, resamples=resamples, seed=seed)
    ratios = np.sort(_studentise(sums, n))
    out, far = tail(confidence), MOST_STUDENTS * half
    low = rate - min(ordered_quantile(ratios, 1 - out) * error, far)
    high = rate - max(ordered_quantile(ratios, out) * error, -far)
    return Interval(low, high, "bootstrap-t")


def _studentise(sums: Floats, n: int) -> Floats:
    """(R* - R) / se* of each resample, in units of the error."""
    apart, sizes, squares, products, square_sizes = sums.T
    moved = apart / sizes
    left = squares - 2 * moved * products + moved**2 * square_sizes
    errors = np.sqrt(np.maximum(n / (n - 1) * left, _LEAST_VARIANCE)) / sizes
    result: Floats = moved / errors
    return result


GROUP_RESAMPLES = 2_000
"""Enough for ends that are shown with two digits."""
_MOST_ALONE = 2_000
"""Values beyond which sums, which are as good as normal then, are a hundred times cheaper."""


def grouped_mean_interval(
    values: Numbers,
    groups: Sequence[int] | Integers | None = None,
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
    sums, sizes = _sum_groups(every, groups)
    if sums.size == every.size <= _MOST_ALONE:
        return mean_interval(every, confidence=confidence, resamples=GROUP_RESAMPLES, seed=seed)
    mean = math.fsum(every) / every.size
    interval = sums_interval(
        np.column_stack([sums, sizes]),
        np.ones(sums.size, dtype=np.int64),
        lambda rows: rows[:, 0] / rows[:, 1],
        confidence=confidence,
        resamples=GROUP_RESAMPLES,
        seed=seed,
    )
    if interval is None:
        return constant_bound(mean, sums.size, confidence=confidence)
    low, high = max(0.0, min(interval.low, mean)), min(1.0, max(interval.high, mean))
    return Interval(low, high, interval.method)


def _sum_groups(values: Floats, groups: Sequence[int] | Integers | None) -> tuple[Floats, Floats]:
    """Of each group the sum and the number of its values, in an order that says nothing."""
    if groups is None:
        return np.sort(values), np.ones(values.size)
    _, index = np.unique(np.asarray(groups), return_inverse=True)
    if index.size != values.size:
        raise ValueError(f"expected one group per value, got {index.size} and {values.size}")
    sums = np.bincount(index, weights=values).astype(np.float64)
    sizes = np.bincount(index).astype(np.float64)
    order = np.lexsort((sizes, sums))
    return sums[order], sizes[order]
