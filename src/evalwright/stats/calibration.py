"""Whether a model that is 80 % sure is right 80 % of the time.

Bins are of equal width on [0, 1]: [0, 1/M), [1/M, 2/M), …, and the last one holds 1 too.
Empty input gives 0.0 and empty bins, without a warning; a report shows null instead, because
nothing was measured.
Does not: give intervals. ECE is biased upwards when bins hold few answers, and no interval
around a biased number would say so: look at the counts in the diagram.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from evalwright.stats.unit import Floats, Numbers, unit_values

Verdicts = Sequence[bool] | Numbers | NDArray[np.bool_]


class Bin(Struct, frozen=True, kw_only=True):
    """One bar of a reliability diagram. An empty bin has no confidence and no accuracy."""

    low: float
    high: float
    count: int
    confidence: float | None
    """Mean confidence of the answers in it."""
    accuracy: float | None
    """Share of them that are right."""


class BrierParts(Struct, frozen=True, kw_only=True):
    """reliability - resolution + uncertainty + within_bin = the Brier score."""

    reliability: float
    """How far confidence is from accuracy: 0 is best."""
    resolution: float
    """How far accuracy differs between bins: more is better."""
    uncertainty: float
    """How hard the questions were to call: depends on the accuracy alone."""
    within_bin: float
    """What the bins hide: 0 when all confidences in a bin are equal."""


class Calibration(Struct, frozen=True, kw_only=True):
    """All calibration figures of one set of answers."""

    ece: float
    brier: float
    parts: BrierParts
    bins: list[Bin]
    populated_bins: int
    n: int


class _Groups(Struct, frozen=True):
    """Answers with the bin of each, and each bin's count, mean confidence and accuracy."""

    confidences: Floats
    correct: Floats
    index: NDArray[np.intp]
    counts: Floats
    confidence: Floats
    accuracy: Floats


def calibration(confidences: Numbers, correct: Verdicts, *, bins: int = 10) -> Calibration:
    """Return every calibration figure at once; each has its formula at its own function."""
    groups = _grouped(confidences, correct, bins)
    diagram = _diagram(groups)
    return Calibration(
        ece=_ece(groups),
        brier=_brier(groups.confidences, groups.correct),
        parts=_parts(groups),
        bins=diagram,
        populated_bins=sum(1 for part in diagram if part.count),
        n=groups.correct.size,
    )


def ece(confidences: Numbers, correct: Verdicts, *, bins: int = 10) -> float:
    """Return the expected calibration error.

        Σ over bins of  n_b/N · |accuracy_b - mean confidence_b|

    One number for the diagram. It depends on the number of bins, so compare like with like.
    Naeini, Cooper & Hauskrecht (2015), AAAI; Guo et al. (2017), ICML, eq. 3, whose bins are
    closed on the right: that differs for a confidence that is exactly an edge.
    """
    return _ece(_grouped(confidences, correct, bins))


def brier(confidences: Numbers, correct: Verdicts) -> float:
    """Return the Brier score: 0 is best, 0.25 is what always saying 50 % gets.

        1/N · Σ (p - y)²

    A proper score: a model gains nothing by stating a confidence that it does not hold.
    Brier (1950), Monthly Weather Review 78(1), in its one-sided form.
    """
    return _brier(*_checked(confidences, correct))


def brier_decomposition(confidences: Numbers, correct: Verdicts, *, bins: int = 10) -> BrierParts:
    """Split the Brier score into what can be mended and what cannot.

        reliability  1/N Σ n_b (p_b - y_b)²        p_b mean confidence, y_b accuracy of a bin
        resolution   1/N Σ n_b (y_b - y)²          y accuracy of all
        uncertainty  y (1 - y)
        within_bin   1/N Σ (p - p_b)² - 2/N Σ (p - p_b)(y_i - y_b)

    Murphy's three parts are exact when every confidence in a bin is the same. Confidences
    of models hardly ever are, so the fourth part closes the sum: always, to rounding.
    Murphy (1973), J. Applied Meteorology 12(4); Stephenson, Coelho & Jolliffe (2008), Weather
    and Forecasting 23(4), for the fourth.
    """
    return _parts(_grouped(confidences, correct, bins))


def reliability_bins(confidences: Numbers, correct: Verdicts, *, bins: int = 10) -> list[Bin]:
    """Return the reliability diagram: all bins from 0 to 1, the empty ones too.

        confidence = mean p of the bin,  accuracy = share of right answers in it

    DeGroot & Fienberg (1983), The Statistician 32(1/2).
    """
    return _diagram(_grouped(confidences, correct, bins))


def _checked(confidences: Numbers, correct: Verdicts) -> tuple[Floats, Floats]:
    p = unit_values(confidences, "confidences")
    y = unit_values(np.asarray(correct, dtype=np.float64), "correct")
    if p.size != y.size:
        raise ValueError(f"expected one verdict a confidence, got {y.size} and {p.size}")
    between = np.flatnonzero((y != 0) & (y != 1))
    if between.size:
        first = int(between[0])
        raise ValueError(f"expected true or false, got `{y[first]}` - at `correct[{first}]`")
    return p, y


def _grouped(confidences: Numbers, correct: Verdicts, bins: int) -> _Groups:
    if bins < 1:
        raise ValueError(f"expected at least 1 bin, got `{bins}`")
    p, y = _checked(confidences, correct)
    # Compared with the edges themselves: int(0.29 * 100) is 28, although 0.29 opens bin 29.
    index = np.minimum(np.searchsorted(_edges(bins), p, side="right") - 1, bins - 1)
    counts = np.bincount(index, minlength=bins).astype(np.float64)
    share = np.maximum(counts, 1)
    confidence = np.bincount(index, weights=p, minlength=bins) / share
    accuracy = np.bincount(index, weights=y, minlength=bins) / share
    return _Groups(p, y, index, counts, confidence, accuracy)


def _edges(bins: int) -> Floats:
    return np.arange(bins + 1) / bins


def _ece(groups: _Groups) -> float:
    gaps = np.abs(groups.accuracy - groups.confidence)
    return float(groups.counts @ gaps) / max(groups.correct.size, 1)


def _brier(p: Floats, y: Floats) -> float:
    return float(np.mean((p - y) ** 2)) if p.size else 0.0


def _parts(groups: _Groups) -> BrierParts:
    n = max(groups.correct.size, 1)
    accuracy = float(groups.correct.sum()) / n
    off = groups.confidences - groups.confidence[groups.index]
    missed = groups.correct - groups.accuracy[groups.index]
    return BrierParts(
        reliability=float(groups.counts @ (groups.confidence - groups.accuracy) ** 2) / n,
        resolution=float(groups.counts @ (groups.accuracy - accuracy) ** 2) / n,
        uncertainty=accuracy * (1 - accuracy),
        within_bin=float(off @ off - 2 * (off @ missed)) / n,
    )


def _diagram(groups: _Groups) -> list[Bin]:
    edges = _edges(groups.counts.size)
    return [
        Bin(
            low=float(edges[i]),
            high=float(edges[i + 1]),
            count=int(count),
            confidence=float(groups.confidence[i]) if count else None,
            accuracy=float(groups.accuracy[i]) if count else None,
        )
        for i, count in enumerate(groups.counts)
    ]
