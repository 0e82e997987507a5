"""The interval of a proportion."""

import math

from evalwright.stats.interval import Interval
from evalwright.stats.quantiles import normal_quantile


def wilson(successes: float, n: int, *, confidence: float = 0.95) -> Interval:
    """Wilson score interval for a proportion; right where the normal one is not.

        center ± z·√(p(1-p)/n + z²/4n²), all over 1 + z²/n,  with  center = p + z²/2n

    Unlike p ± z·SE it stays inside [0, 1] and has width at p = 0 and p = 1.
    `successes` may be fractional, as the sum of graded scores is. No scores in [0, 1] vary
    more than zeros and ones of the same mean, so for graded scores it is a wide envelope.
    Wilson (1927), JASA 22(158), 209-212.
    """
    if n < 1:
        raise ValueError(f"expected at least 1 trial, got `{n}`")
    if not 0 <= successes <= n:
        raise ValueError(f"expected successes from 0 to {n}, got `{successes}`")
    z2 = normal_quantile(confidence) ** 2
    p = successes / n
    center = p + z2 / (2 * n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n)))
    scale = 1 + z2 / n
    # At p = 0 and p = 1 the ends are exactly 0 and 1; rounding would leave 1e-17 of either.
    low = 0.0 if p == 0 else max(0.0, (center - half) / scale)
    high = 1.0 if p == 1 else min(1.0, (center + half) / scale)
    return Interval(low, high, "wilson")
