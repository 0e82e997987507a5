"""The bootstrap of what is computed from sums over samples: precision, recall, F1.

Promises:  the same interval for the same seed; 10,000 samples in a third of a second; memory for
           a few megabytes of draws.
Does not:  help where every resample gives the same value: the interval is None then, and the
           caller knows a bound.
"""

from collections.abc import Callable, Iterator

from evalwright.stats.arrays import Floats, Generator, Integers, chunks, np
from evalwright.stats.interval import EQUAL_WITHIN, Interval
from evalwright.stats.quantiles import (
    bias_correction,
    normal_cdf,
    normal_quantile,
    ordered_quantile,
    student_confidence,
)

Statistic = Callable[[Floats], Floats]
"""Of each row of sums its value, NaN where it is undefined."""

RESAMPLES = 10_000
_MAX_COUNTS = 2_000_000
_MAX_DRAWS = 8_000_000
"""Counts, and samples, that are drawn in all: a fifth of a second each."""
_LEAST_SHARE = 0.1
"""A bias beyond it is not believed: few values in steps would throw the interval to one end."""
_MOST_KINDS = 1_000
_MOST_SAMPLES = 2_000
_COUNT_COST = 5
"""Drawing one count of a distinct row takes as long as drawing this many rows."""


def sums_interval(
    rows: Floats,
    counts: Integers,
    statistic: Statistic,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Bias-corrected percentile interval of a statistic of the sums of rows.

        [q(Φ(2·z0 - z)), q(Φ(2·z0 + z))] of statistic(Σ rows of a resample), z = Student's for n
        z0 = Φ⁻¹(share of resampled values below the value, ties counted half)

    `rows` are the distinct ones, `counts` how often each occurs: a resample is a draw of counts.
    Resamples in which the statistic is undefined are left out. None if that is most of them, or if
    all give one value. A ratio of sums lies a little off in a resample: z0 takes that out.
    Efron (1981), Canadian Journal of Statistics 9(2); Hesterberg (2015), The American
    Statistician 69(4), for the width.
    """
    n = int(counts.sum())
    if n < 2:  # noqa: PLR2004 - one sample has no spread
        return None
    drawn = statistic(resampled_sums(rows, counts, resamples=resamples, seed=seed))
    values = np.sort(drawn[np.isfinite(drawn)])
    if 2 * values.size < drawn.size or values[-1] - values[0] <= EQUAL_WITHIN * abs(values[-1]):
        return None
    value = float(statistic((counts @ rows)[None, :])[0])
    bias = bias_correction(values, value, tolerance=EQUAL_WITHIN, least=_LEAST_SHARE)
    z = normal_quantile(student_confidence(confidence, n))
    low, high = (ordered_quantile(values, normal_cdf(2 * bias + side)) for side in (-z, z))
    return Interval(low, high, "bootstrap")


def distinct(rows: Floats) -> tuple[Floats, Integers]:
    """The distinct rows, and how often each occurs."""
    unique, counts = np.unique(rows, axis=0, return_counts=True)
    return unique, counts.astype(np.int64)


def resampled_sums(
    rows: Floats, counts: Integers, *, resamples: int = RESAMPLES, seed: int = 0
) -> Floats:
    """The sums of rows over samples drawn with replacement, a resample a row; at most so many."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return np.concatenate(list(_draw_sums(rows, counts, resamples=resamples, rng=rng)))


def _draw_sums(
    rows: Floats, counts: Integers, *, resamples: int, rng: Generator
) -> Iterator[Floats]:
    """The same in chunks, by the cheapest road."""
    kinds, n = len(rows), int(counts.sum())
    if kinds <= _MOST_KINDS and (kinds * _COUNT_COST < n or kinds <= _COUNT_COST):
        for size in chunks(min(resamples, _MAX_COUNTS // kinds), kinds):
            yield rng.multinomial(n, counts / n, size=size) @ rows
    elif n <= _MOST_SAMPLES:
        every = np.repeat(rows, counts, axis=0)
        for size in chunks(min(resamples, _MAX_DRAWS // n), n):
            yield every[rng.integers(0, n, (size, n))].sum(axis=1)
    else:
        yield _limit(rows, counts, rng.standard_normal((resamples, rows.shape[1])))


def _limit(rows: Floats, counts: Integers, normal: Floats) -> Floats:
    """Resampled sums as they are for thousands of different rows: normal, by the central limit."""
    n = int(counts.sum())
    center = counts @ rows / n
    apart = rows - center
    spread = (apart * counts[:, None]).T @ apart  # n times the covariance of a row
    values, vectors = np.linalg.eigh(spread)
    root = vectors * np.sqrt(np.maximum(values, 0))
    sums: Floats = n * center + normal @ root.T
    return sums
