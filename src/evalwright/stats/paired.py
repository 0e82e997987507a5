"""The difference between two models on the same tasks.

Two models fail on the same hard tasks, so their intervals overlap long after the difference
is certain. The difference of each task takes the hardness out.

    paired_difference       scores in [0, 1]
    any_paired_difference   numbers of any range
    compare_all             all pairs of many models, in the order of itertools.combinations
    win_rates               the share of tasks on which each model is best

`compare_all` compares few pairs one by one. From `_FEW_PAIRS` on, its cost grows as the number of
models does:

    the resamples are shared     every pair is resampled at the same places, in one product
    the resamples are fewer      10,000 · _FEW_PAIRS / pairs, at least 1,000
    large products are avoided   the ends are then those of Cornish and Fisher's expansion

The differences are the same as one by one. The ends of the intervals differ by the noise of
resampling: 2 % of the width, as a standard deviation, with 1,000 resamples.

Promises:   `paired_difference(b, a)` is exactly the mirror of `paired_difference(a, b)`;
            a difference is called significant when its interval excludes zero: for two equal
            models about 5 % of the time at 95 %, less when most tasks are tied.
Does not:   correct for many comparisons. Of twenty pairs of equal models, one looks different; of
            79,800 pairs, 4,000.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from evalwright.stats.arrays import Floats, Integers, Numbers, np, unit_values
from evalwright.stats.bootstrap import percentile
from evalwright.stats.interval import EQUAL_WITHIN, constant_bound
from evalwright.stats.quantiles import (
    normal_quantile,
    student_confidence,
    student_quantile,
    tail,
)

_ZERO_WITHIN = 1e-12
"""An end of an interval closer to zero than this is zero: resampling adds up rounding errors."""
_FEW_PAIRS = 1_000
_RESAMPLES, _MIN_RESAMPLES = 10_000, 1_000
_MAX_PRODUCT = 20_000_000_000
"""Multiplications, of about 0.2 ns each."""
_MAX_COUNTS = 10_000_000
_BLOCK = 4_000_000
"""Numbers in a block of resampled means: 32 MB."""


class PairedDifference(Struct, frozen=True):
    """Mean of a - b over the samples, and its confidence interval; None without samples.

    The interval is missing if all differences are equal and the range of scores is unknown.
    """

    difference: float | None
    low: float | None
    high: float | None
    significant: bool
    """Whether the interval excludes zero. If not, the two are tied."""
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
    differences = _differences(unit_values(a, "a"), unit_values(b, "b"))
    n = differences.size
    if not n:
        return PairedDifference(None, None, None, significant=False, n=0)
    mean = math.fsum(differences) / n
    if np.ptp(differences) <= EQUAL_WITHIN:
        bound = constant_bound(mean, n, confidence=confidence, floor=-1.0)
        low, high = bound.low, bound.high
    else:
        low, high = _ends(differences, mean, confidence, resamples=resamples, seed=seed)
    return finish_difference(mean, low, high, n=n, unit=True)


def any_paired_difference(
    a: Numbers, b: Numbers, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> PairedDifference:
    """Return the same for finite numbers of any range.

    Numbers in [0, 1] are compared by `paired_difference`. Others have no range that an interval
    could be cut to, and equal differences of them have no interval: nothing bounds the spread.
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    together = np.concatenate([left, right])
    if not together.size or (together.min() >= 0 and together.max() <= 1):
        return paired_difference(left, right, confidence=confidence, resamples=resamples, seed=seed)
    differences = _differences(left, right)
    n, mean = differences.size, math.fsum(differences) / differences.size
    scale = max(1.0, float(np.abs(together).max()))
    if np.ptp(differences) <= EQUAL_WITHIN * scale:
        return PairedDifference(mean, None, None, significant=False, n=n)
    low, high = _ends(differences, mean, confidence, resamples=resamples, seed=seed)
    return finish_difference(mean, low, high, n=n, unit=False)


def _ends(
    differences: Floats, mean: float, confidence: float, *, resamples: int, seed: int
) -> tuple[float, float]:
    """Return the wider of the bootstrap's and Student's interval."""
    n = differences.size
    sign, oriented = _orient(differences)
    level = student_confidence(confidence, n)
    interval = percentile(oriented, confidence=level, resamples=resamples, seed=seed)
    low, high = sorted((sign * interval.low, sign * interval.high))
    half = student_quantile(confidence, n - 1) * float(np.std(oriented, ddof=1)) / math.sqrt(n)
    return min(low, mean - half), max(high, mean + half)


def _differences(left: Floats, right: Floats) -> Floats:
    if left.size != right.size:
        raise ValueError(f"expected one score per sample in both, got {left.size} and {right.size}")
    return np.sort(left - right)


def _orient(ordered: Floats) -> tuple[float, Floats]:
    """Return the same values for `a - b` and `b - a`, and the sign that tells them apart."""
    mirrored = -ordered[::-1]
    unequal = np.flatnonzero(ordered != mirrored)
    if not unequal.size or ordered[unequal[0]] > mirrored[unequal[0]]:
        return 1.0, ordered
    return -1.0, mirrored


def finish_difference(
    mean: float, low: float, high: float, *, n: int, unit: bool
) -> PairedDifference:
    """Return a difference with an interval; that of scores in [0, 1] is within [-1, 1]."""
    if unit:
        low, high = max(low, -1.0), min(high, 1.0)
    low, high = (0.0 if abs(end) < _ZERO_WITHIN else end for end in (low, high))
    return PairedDifference(mean, low, high, significant=low > 0 or high < 0, n=n)


def win_rates(scores: Mapping[str, Floats | Sequence[float | None]]) -> dict[str, float | None]:
    """Return the share of tasks on which each model is best; ties are split equally.

        rate(m) = 1/T · Σ over tasks of [m is best] / (number of models that are best)

    `scores` has one array per model, in the same order of tasks; NaN or None where a model did not
    complete the task. Only tasks that all completed count, so that the rates sum to 1 and a
    failure is no defeat. With no such task the rates are None. Scores tie when equal.
    With two models a tie is half a win, as a draw is in Elo (1978), The Rating of Chessplayers.
    HELM's mean win rate (Liang et al. 2023, TMLR) is another number: it compares pairs.
    """
    lengths = {model: len(row) for model, row in scores.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"expected one score per sample for every model, got {lengths}")
    if not scores:
        return {}
    table = np.array(list(scores.values()), dtype=np.float64)
    completed = table[:, ~np.isnan(table).any(axis=0)]
    if not completed.size:
        return dict.fromkeys(scores)
    is_best = completed == completed.max(axis=0)
    shares = is_best / is_best.sum(axis=0)
    tasks = completed.shape[1]
    return {model: math.fsum(row) / tasks for model, row in zip(scores, shares, strict=True)}


def compare_all(
    rows: Sequence[Floats], *, confidence: float = 0.95, seed: int = 0
) -> list[PairedDifference]:
    """Compare every two rows; each has one finite score per sample, in the same order."""
    pairs = math.comb(len(rows), 2)
    if pairs <= _FEW_PAIRS or not rows[0].size:
        return list(_compare_few(rows, confidence=confidence, seed=seed))
    table = np.vstack(rows)
    is_unit = bool(table.min() >= 0 and table.max() <= 1)
    largest = np.abs(table).max(axis=1)
    resamples = _SharedResamples(table.shape[1], pairs, confidence=confidence, seed=seed)
    compared: list[PairedDifference] = []
    for left, right in resamples.split_pairs(len(rows)):
        differences = np.sort(table[left] - table[right], axis=1)
        scale = 1.0 if is_unit else np.maximum(1.0, np.maximum(largest[left], largest[right]))
        is_constant = np.ptp(differences, axis=1) <= EQUAL_WITHIN * scale
        ends = resamples.find_ends(differences).tolist()
        for place, (mean, low, high) in enumerate(ends):
            if is_constant[place]:
                pair = rows[left[place]], rows[right[place]]
                compared.append(any_paired_difference(*pair, confidence=confidence, seed=seed))
            else:
                compared.append(finish_difference(mean, low, high, n=table.shape[1], unit=is_unit))
    return compared


def _compare_few(
    rows: Sequence[Floats], *, confidence: float, seed: int
) -> Iterator[PairedDifference]:
    """Compare one by one; the interval of the same differences is computed once."""
    known: dict[bytes, PairedDifference] = {}
    is_unit = all(not row.size or (row.min() >= 0 and row.max() <= 1) for row in rows)
    for left, right in combinations(rows, 2):
        key = np.sort(left - right).tobytes()
        if key not in known or not is_unit:
            known[key] = any_paired_difference(left, right, confidence=confidence, seed=seed)
        yield known[key]


class _SharedResamples:
    """Resamples of `n` samples that all pairs share."""

    def __init__(self, n: int, pairs: int, *, confidence: float, seed: int) -> None:
        self._n = n
        level = student_confidence(confidence, n) if n > 1 else confidence
        self._student = student_quantile(confidence, n - 1) if n > 1 else 0.0
        self._normal = normal_quantile(level)
        self._resamples = resamples = max(_MIN_RESAMPLES, _RESAMPLES * _FEW_PAIRS // pairs)
        self._shares: Floats | None = None
        """The share of each sample in each resample; None if there are too many."""
        if n * resamples <= _MAX_COUNTS and n * resamples * pairs <= _MAX_PRODUCT:
            self._shares = _count_draws(n, resamples, seed) / n
            self._places = [_find_place(p, resamples) for p in (tail(level), 1 - tail(level))]

    def split_pairs(self, rows: int) -> Iterator[tuple[Integers, Integers]]:
        """Yield the places of the first and the second row of all pairs, in blocks."""
        left, right = np.triu_indices(rows, 1)
        size = max(1, _BLOCK // max(self._n, self._resamples))
        for start in range(0, len(left), size):
            yield left[start : start + size], right[start : start + size]

    def find_ends(self, differences: Floats) -> Floats:
        """Return mean, low and high of each row of sorted differences."""
        signs, oriented = _orient_rows(differences)
        means = oriented.mean(axis=1)
        deviations = oriented - means[:, None]
        if self._shares is None:
            low, high = self._expand(deviations)
        else:
            low, high = self._find_quantiles(deviations @ self._shares.T)
        half = self._student * oriented.std(axis=1, ddof=1) / math.sqrt(self._n)
        low, high = means + np.minimum(low, -half), means + np.maximum(high, half)
        ends = np.sort(signs[:, None] * np.column_stack([low, high]), axis=1)
        return np.column_stack([signs * means, ends])

    def _find_quantiles(self, means: Floats) -> tuple[Floats, Floats]:
        """Return the two quantiles of each row, as `ordered_quantile` defines them."""
        means.sort(axis=1)
        low, high = (
            means[:, below] + (means[:, above] - means[:, below]) * share
            for below, above, share in self._places
        )
        return low, high

    def _expand(self, deviations: Floats) -> tuple[Floats, Floats]:
        """Return the quantiles of Cornish and Fisher: Hall (1992), The Bootstrap and Edgeworth."""
        squares = np.square(deviations).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = np.nan_to_num((deviations**3).sum(axis=1) / squares**1.5) / 6
        error, z = np.sqrt(squares) / self._n, self._normal
        shift = skewness * (z * z - 1)
        return error * (shift - z), error * (shift + z)


def _count_draws(n: int, resamples: int, seed: int) -> Floats:
    """Return how often each resample has each sample."""
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = rng.integers(0, n, (resamples, n)) + np.arange(resamples)[:, None] * n
    counts = np.bincount(drawn.ravel(), minlength=resamples * n)
    return np.asarray(counts.reshape(resamples, n), dtype=np.float64)


def _find_place(p: float, size: int) -> tuple[int, int, float]:
    place = min(max(p * (size + 1) - 1, 0.0), size - 1.0)
    below = math.floor(place)
    return below, min(below + 1, size - 1), place - below


def _orient_rows(ordered: Floats) -> tuple[Floats, Floats]:
    """Return each row as it is for both orders of its pair, and the sign that tells them apart."""
    mirrored = -ordered[:, ::-1]
    unequal = ordered != mirrored
    first = unequal.argmax(axis=1)
    places = np.arange(len(ordered))
    keeps = ~unequal.any(axis=1) | (ordered[places, first] > mirrored[places, first])
    return np.where(keeps, 1.0, -1.0), np.where(keeps[:, None], ordered, mirrored)
