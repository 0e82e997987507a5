"""The chance that at least one of k attempts passes, or that all do.

pass_at_k          from counts, unbiased; k is at most the attempts made
pass_at_k_of_rate  from a rate, as if attempts were drawn from it without end
pass_hat_k         the same for all k of them
"""

import math
from collections.abc import Sequence

from evalwright.stats.interval import Interval
from evalwright.stats.mean import mean_interval


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate the chance that at least one of `k` trials passes, from `c` passes in `n` trials.

        1 - C(n-c, k) / C(n, k);  1 when n - c < k

    The k trials are treated as drawn from the n without replacement, so the estimate is unbiased,
    whereas 1 - (1 - c/n)^k is too low on average. Integers are divided only once, so no precision
    is lost.
    Chen et al. (2021), Evaluating Large Language Models Trained on Code, eq. 1.

    >>> ew.metrics.pass_at_k(n=5, c=3, k=2)
    0.9
    """
    if n < 1:
        raise ValueError(f"expected at least 1 trial, got n = `{n}`")
    if not 0 <= c <= n:
        raise ValueError(f"expected passes from 0 to {n}, got c = `{c}`")
    if not 1 <= k <= n:
        raise ValueError(f"expected k from 1 to the {n} trials, got k = `{k}`")
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


def pass_at_k_of_rate(rate: float, k: int) -> float:
    """The chance that one of `k` attempts passes, if each does with the chance `rate`.

        1 - (1 - rate)^k

    With c/n in the place of the rate it is the plug-in estimate that trials of task documents
    use: defined for any k, and too low on average, where `pass_at_k` is not. Of 3 passes in 5
    attempts it is 0.84 for k = 2, `pass_at_k` 0.9; of 30 in 50, 0.84 and 0.845.
    Chen et al. (2021), appendix A, on the bias.
    """
    _check(rate, k)
    return float(1 - (1 - rate) ** k)


def pass_hat_k(rate: float, k: int) -> float:
    """The chance that all of `k` attempts pass, if each does with the chance `rate`: pass^k.

        rate^k

    With c/n in the place of the rate it is too high on average: of 3 passes in 5 attempts 0.36
    for k = 2, where C(c, k) / C(n, k), which is unbiased, is 0.3.
    Yao et al. (2024), tau-bench, section 3, for the measure.
    """
    _check(rate, k)
    return float(rate**k)


def _check(rate: float, k: int) -> None:
    if not 0 <= rate <= 1:
        raise ValueError(f"expected a rate from 0 to 1, got `{rate}`")
    if k < 1:
        raise ValueError(f"expected k from 1, got k = `{k}`")
