"""The paired differences of all pairs of many models, at a cost that grows as their number does.

    compare_all(rows)      one PairedDifference per pair, in the order of itertools.combinations

Few pairs are compared one by one, as `any_paired_difference` does. From `_FEW_PAIRS` on,

    the resamples are shared     every pair is resampled at the same places, in one product
    the resamples are fewer      10,000 · _FEW_PAIRS / pairs, at least 1,000
    large products are avoided   the ends are then those of Cornish and Fisher's expansion

Promises:   the same differences as one by one; ends of intervals that differ by the noise of
            resampling (2 % of the width, as a standard deviation, with 1,000 resamples); the wider
            of the bootstrap's and Student's interval; the mirror for a pair in the other order.
Does not:   correct for many comparisons: of 79,800 pairs of equal models, 4,000 look different.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from numpy.typing import NDArray

from evalwright.stats.arrays import Floats, np
from evalwright.stats.interval import EQUAL_WITHIN
from evalwright.stats.paired import PairedDifference, any_paired_difference, finish_difference
from evalwright.stats.quantiles import (
    normal_quantile,
    student_confidence,
    student_quantile,
    tail,
)

_FEW_PAIRS = 1_000
_RESAMPLES, _MIN_RESAMPLES = 10_000, 1_000
_MAX_PRODUCT = 20_000_000_000
"""Multiplications, of about 0.2 ns each."""
_MAX_COUNTS = 10_000_000
_BLOCK = 4_000_000
"""Numbers in a block of resampled means: 32 MB."""

Places = NDArray[np.intp]


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

    def split_pairs(self, rows: int) -> Iterator[tuple[Places, Places]]:
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
