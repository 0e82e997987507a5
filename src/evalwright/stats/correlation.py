"""How two lists of numbers go together: in a line (Pearson), in their order (Spearman).

Promises:  None where one of the lists does not vary: nothing can go together with it.
Does not:  say whether the numbers are equal: 1, 2, 3 and 10, 20, 30 correlate perfectly.
"""

import math

import numpy as np

from evalwright.stats.interval import Interval
from evalwright.stats.kappa import moments, moments_interval
from evalwright.stats.quantiles import normal_quantile
from evalwright.stats.unit import Floats, Numbers

_FEWEST = 4
"""Below it the standard error of Spearman's coefficient does not exist."""
_NOTHING = 1e-12


def pearson(one: Numbers, other: Numbers) -> float | None:
    """Return cov(x, y) / (s_x · s_y), from -1 to 1; None where one of them does not vary."""
    rows = moments(one, other)
    if not len(rows):
        return None
    value = float(_pearson(rows.sum(axis=0)[None, :])[0])
    return None if math.isnan(value) else value


def pearson_interval(
    one: Numbers, other: Numbers, *, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Return the bootstrap interval of it over samples; None below 4 of them, and at -1 and 1.

    Of three points, most resamples lie on a line, and say nothing.
    """
    r = pearson(one, other)
    if r is None or len(one) < _FEWEST or 1 - abs(r) < _NOTHING:
        return None
    return moments_interval(one, other, _pearson, confidence=confidence, seed=seed)


def spearman(one: Numbers, other: Numbers) -> float | None:
    """Return Pearson's coefficient of the ranks; equal numbers share the mean of their ranks."""
    return pearson(ranks(one), ranks(other))


def spearman_interval(one: Numbers, other: Numbers, *, confidence: float = 0.95) -> Interval | None:
    """Return the interval of Spearman's coefficient; None below 4 samples, and at -1 and 1.

        tanh(artanh r ± z·√((1 + r²/2) / (n - 3)))

    Bonett & Wright (2000), Psychometrika 65(1), 23-28.
    """
    r = spearman(one, other)
    n = len(one)
    if r is None or n < _FEWEST or 1 - abs(r) < _NOTHING:
        return None
    half = normal_quantile(confidence) * math.sqrt((1 + r * r / 2) / (n - 3))
    return Interval(math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half), "fisher-z")


def ranks(numbers: Numbers) -> Floats:
    """Return the rank of each number, from 1; of equal ones the mean of theirs."""
    values = np.asarray(numbers, dtype=np.float64)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: Floats = (last - (counts - 1) / 2)[inverse]
    return shared


def _pearson(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = sums.T
    variances = (xx / n - (x / n) ** 2, yy / n - (y / n) ** 2)
    made = np.full(n.shape, np.nan)
    varies = (variances[0] > _NOTHING) & (variances[1] > _NOTHING)
    root = np.sqrt(np.maximum(variances[0] * variances[1], 0))
    np.divide(xy / n - x * y / n**2, root, out=made, where=varies)
    return np.clip(made, -1, 1)
