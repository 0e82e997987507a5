"""Compare two metrics of the same samples: difference, interval and test.

    compare_means     a mean of one number per sample
    compare_ratios    a ratio of sums over the samples

    scores                              test
    0 and 1, one trial, no clusters     McNemar's exact test
    any others                          sign-flip permutation test, of clusters if there are any
    ratios of sums                      bootstrap: the share of resamples on the other side of zero

Promises:   the mirror for `b` and `a`; the interval is the one that reports show for pairs.
Does not:   decide. `verdict` in `compare.statistic` weighs the p-values of all comparisons.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from evalwright.stats.arrays import Floats, chunks, np
from evalwright.stats.interval import EQUAL_WITHIN
from evalwright.stats.paired import any_paired_difference
from evalwright.stats.quantiles import ordered_quantile, tail
from evalwright.stats.significance import mcnemar_exact, sign_flip_test

TestName = Literal["mcnemar", "sign-flip", "bootstrap", "none"]
RATIO_RESAMPLES = 2_000


class PairedComparison(Struct, frozen=True, kw_only=True):
    """The difference `b - a` over n samples that both have."""

    value_a: float | None
    value_b: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    test: TestName = "none"
    n: int
    clusters: int | None = None
    deviation: float = 0.0
    """Standard deviation of the paired differences; of the terms of clusters, per sample."""
    wins: int = 0
    losses: int = 0
    ties: int = 0


def compare_means(
    a: Floats,
    b: Floats,
    *,
    clusters: Sequence[str] | None = None,
    is_single_trial: bool = True,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairedComparison:
    """Compare two means, sample by sample.

    With several trials, a sample's number is the mean over its trials, so their noise is part of
    the differences. With clusters, the interval and the test are of the terms of clusters.
    """
    n = int(a.size)
    if not n:
        return PairedComparison(value_a=None, value_b=None, difference=None, n=0)
    differences = b - a
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    left, right = a, b
    if clusters is not None:
        left, right = cluster_terms(a, clusters), cluster_terms(b, clusters)
    paired = any_paired_difference(right, left, confidence=confidence, seed=seed)
    is_binary = bool(np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all())
    terms = right - left
    if is_binary and is_single_trial and clusters is None:
        p_value, test = mcnemar_exact(wins, losses), "mcnemar"
    else:
        p_value, test = sign_flip_test(terms, seed=seed), "sign-flip"
    deviation = float(terms.std(ddof=1)) if terms.size > 1 else 0.0
    value_a, value_b = math.fsum(a) / n, math.fsum(b) / n
    return PairedComparison(
        value_a=value_a,
        value_b=value_b,
        difference=0.0 if not wins and not losses else value_b - value_a,
        low=paired.low,
        high=paired.high,
        p_value=p_value,
        test="mcnemar" if test == "mcnemar" else "sign-flip",
        n=n,
        clusters=None if clusters is None else int(terms.size),
        deviation=deviation * math.sqrt(n / terms.size),
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
    )


def compare_ratios(  # noqa: PLR0913 - two sides, the ratio, and how it is resampled
    a: Floats,
    b: Floats,
    ratio: Callable[[Floats], Floats],
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = RATIO_RESAMPLES,
    seed: int = 0,
) -> PairedComparison:
    """Compare two ratios of sums; `a` and `b` have one row of counts per sample.

        d* = ratio(Σ b over a resample) - ratio(Σ a over the same resample)
        interval: percentiles of d*;   p = 2 · min(P(d* ≤ 0), P(d* ≥ 0)), at least 2 / (B + 1)

    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapters 13 and 15.
    """
    n = len(a)
    if not n:
        return PairedComparison(value_a=None, value_b=None, difference=None, n=0)
    value_a, value_b = (_ratio_of(rows, ratio) for rows in (a, b))
    wins, losses = _count_wins(a, b, ratio)
    ties = n - wins - losses
    result = PairedComparison(
        value_a=value_a,
        value_b=value_b,
        difference=None if value_a is None or value_b is None else value_b - value_a,
        n=n,
        wins=wins,
        losses=losses,
        ties=ties,
    )
    if result.difference is None:
        return result
    together = np.hstack([a, b])
    number = None
    if clusters is not None:
        _, places = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
        number = int(places.max()) + 1
        sums = np.zeros((number, together.shape[1]))
        np.add.at(sums, places, together)
        together = sums
    drawn = np.sort(_resample(together, a.shape[1], ratio, resamples, seed))
    drawn = drawn[np.isfinite(drawn)]
    if drawn.size < resamples // 2 or np.ptp(drawn) <= EQUAL_WITHIN:
        return result
    out = tail(confidence)
    below, above = int((drawn <= 0).sum()), int((drawn >= 0).sum())
    return PairedComparison(
        value_a=result.value_a,
        value_b=result.value_b,
        difference=result.difference,
        low=ordered_quantile(drawn, out),
        high=ordered_quantile(drawn, 1 - out),
        p_value=min(1.0, 2 * (1 + min(below, above)) / (1 + drawn.size)),
        test="bootstrap",
        n=n,
        clusters=number,
        deviation=float(drawn.std(ddof=1)) * math.sqrt(n),
        wins=wins,
        losses=losses,
        ties=ties,
    )


def _ratio_of(rows: Floats, ratio: Callable[[Floats], Floats]) -> float | None:
    value = float(ratio(rows.sum(axis=0)[None, :])[0])
    return None if math.isnan(value) else value


def _count_wins(a: Floats, b: Floats, ratio: Callable[[Floats], Floats]) -> tuple[int, int]:
    own_a, own_b = np.nan_to_num(ratio(a)), np.nan_to_num(ratio(b))
    return int((own_b > own_a).sum()), int((own_b < own_a).sum())


def _resample(
    rows: Floats, width: int, ratio: Callable[[Floats], Floats], resamples: int, seed: int
) -> Floats:
    generator = np.random.default_rng(seed)
    drawn = []
    for count in chunks(resamples, len(rows)):
        places = generator.integers(0, len(rows), size=(count, len(rows)))
        sums = rows[places].sum(axis=1)
        drawn.append(ratio(sums[:, width:]) - ratio(sums[:, :width]))
    return np.concatenate(drawn)


def cluster_terms(values: Floats, clusters: Sequence[str]) -> Floats:
    """Return one term per cluster, so that the mean of the terms is the mean of the values.

        u(g) = m + (S(g) - m·n(g)) · G / n,   S(g) = sum over cluster g,  m = mean of all n values

    This linearizes the ratio of sums m = ΣS / Σn. Its variance is the usual cluster-robust one,
    and the terms can be resampled, tested and counted like independent samples. With clusters of
    equal size, a term is the mean of its cluster.
    Cochran (1977), Sampling Techniques, section 9A; Miller (2024), Adding Error Bars to Evals,
    section 2.2.
    """
    if len(clusters) != values.size:
        raise ValueError(f"expected a cluster per value, got {len(clusters)} for {values.size}")
    if not values.size:
        return values
    _, places = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    sums = np.bincount(places, weights=values)
    sizes = np.bincount(places)
    mean = float(values.sum() / values.size)
    return np.asarray(mean + (sums - mean * sizes) * (sums.size / values.size))
