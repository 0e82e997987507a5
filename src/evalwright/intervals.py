"""Compute confidence intervals for scores: `ew.intervals.mean([1, 0, 1, 1])`.

    wilson             a proportion, such as a pass rate
    mean               the mean of scores in [0, 1], by the method that reports use
    bootstrap_mean     the same mean, by the plain percentile bootstrap
    paired_difference  the mean difference between two models on the same samples
    pass_at_k          the mean pass@k over samples with several trials

Scores are numbers in [0, 1], one per sample. Empty input, NaN and scores outside this range raise
`ValueError`. The same scores and seed give the same interval, regardless of order.
"""

from collections.abc import Sequence

from evalwright.stats.arrays import Numbers
from evalwright.stats.bootstrap import bootstrap_mean_ci as bootstrap_mean
from evalwright.stats.interval import Interval, wilson
from evalwright.stats.mean import mean_interval
from evalwright.stats.paired import PairedDifference
from evalwright.stats.paired import paired_difference as compare_scores
from evalwright.stats.pass_at_k import pass_at_k_interval

__all__ = [
    "Interval",
    "PairedDifference",
    "bootstrap_mean",
    "mean",
    "paired_difference",
    "pass_at_k",
    "wilson",
]


def mean(
    scores: Numbers, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Return the confidence interval for a mean, by the method that suits the scores.

    If all scores are 0 or 1, the method is Wilson's; if all are equal to some other value, it is a
    bound. Otherwise, it is a bootstrap: BCa, or bootstrap-t for fewer than 20 scores. `method` in
    the result names the method.

    >>> interval = ew.intervals.mean([1, 0, 1, 1])
    >>> round(interval.low, 2), round(interval.high, 2), interval.method
    (0.3, 0.95, 'wilson')
    """
    interval = mean_interval(scores, confidence=confidence, resamples=resamples, seed=seed)
    if interval is None:
        raise ValueError("expected at least 1 score, got none: `scores` is empty")
    return interval


def paired_difference(
    a: Numbers, b: Numbers, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> PairedDifference:
    """Return the mean of a - b over the samples, with its confidence interval.

    `a` and `b` have one score per sample, in the same order. The difference is significant if the
    interval excludes zero; otherwise the two are tied. The interval is not corrected for multiple
    comparisons.

    >>> a = [1, 1, 1, 0, 1, 1, 1, 1, 1, 0]
    >>> b = [0, 1, 0, 0, 1, 0, 0, 1, 0, 0]
    >>> paired = ew.intervals.paired_difference(a, b)
    >>> paired.difference, paired.significant, paired.n
    (0.5, True, 10)
    """
    for name, scores in (("a", a), ("b", b)):
        if not len(scores):
            raise ValueError(f"expected at least 1 score, got none: `{name}` is empty")
    return compare_scores(a, b, confidence=confidence, resamples=resamples, seed=seed)


def pass_at_k(
    counts: Sequence[tuple[int, int]],
    k: int,
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Return the confidence interval for the mean pass@k over samples.

    Each sample is given as (trials, passes). `ew.metrics.pass_at_k` computes the value for one
    sample. Only samples are resampled, because trials of the same sample are not independent.

    >>> interval = ew.intervals.pass_at_k([(5, 5), (5, 0), (5, 2), (5, 1)], k=1)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.1, 0.8)
    """
    interval = pass_at_k_interval(counts, k, confidence=confidence, resamples=resamples, seed=seed)
    if interval is None:
        raise ValueError("expected at least 1 sample, got none: `counts` is empty")
    return interval
