"""The chance that at least one of k attempts passes."""

import math
from collections.abc import Sequence

from evalwright.stats.interval import Interval
from evalwright.stats.mean import mean_interval


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate the chance that one of `k` attempts passes, from `c` passes in `n` attempts.

        1 - C(n-c, k) / C(n, k);  1 when n - c < k

    Unbiased, where 1 - (1 - c/n)^k is too low: it draws the k without replacement from the
    attempts that were made. Whole numbers are subtracted and divided once, so nothing is lost.
    Chen et al. (2021), Evaluating Large Language Models Trained on Code, eq. 1.
    """
    if n < 1:
        raise ValueError(f"expected at least 1 attempt, got n = `{n}`")
    if not 0 <= c <= n:
        raise ValueError(f"expected passes from 0 to {n}, got c = `{c}`")
    if not 1 <= k <= n:
        raise ValueError(f"expected k from 1 to the {n} attempts made, got k = `{k}`")
    ways = math.comb(n, k)
    return (ways - math.comb(n - c, k)) / ways


def pass_at_k_interval(
    rows: Sequence[tuple[int, int]],
    k: int,
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval | None:
    """Return the interval of the mean pass@k of samples, each given as (attempts, passes).

        mean_interval of pass_at_k(n, c, k) over the samples

    Attempts at one sample are alike, so they are no more evidence about other samples: only
    the samples are resampled, and their attempts stay together.
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 3.8 (strategy 1).
    """
    estimates = [pass_at_k(n, c, k) for n, c in rows]
    return mean_interval(estimates, confidence=confidence, resamples=resamples, seed=seed)
