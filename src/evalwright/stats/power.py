"""How large a difference can be seen with n samples, and how many samples a difference needs.

    minimum_detectable    the smallest difference that n samples show with 80 % probability
    required_samples        the number of samples that show a difference with 80 % probability
    paired_deviation      the spread of paired differences, from what is known before a run

Promises:   Miller's formula with the normal distribution, two-sided.
Does not:   correct for several comparisons, or for few samples: below 20, real tests see less.
"""

import math

from evalwright.stats.quantiles import normal_inverse, normal_quantile

POWER = 0.8


def minimum_detectable(
    deviation: float, n: int, *, power: float = POWER, confidence: float = 0.95
) -> float:
    """Return the smallest true difference that a test of n samples detects with that power.

        δ = (z(a/2) + z(b)) · s / √n,  s = standard deviation of the paired differences

    Miller (2024), Adding Error Bars to Evals, section 5.
    """
    if n < 1:
        raise ValueError(f"expected at least 1 sample, got {n}")
    return _factor(power, confidence) * deviation / math.sqrt(n)


def required_samples(
    deviation: float, difference: float, *, power: float = POWER, confidence: float = 0.95
) -> int:
    """Return how many samples detect a difference with that power.

        n = (z(a/2) + z(b))² · s² / δ²

    With ω² = 1/9 (s = 1/3) and δ = 0.03, n is 969.
    Miller (2024), Adding Error Bars to Evals, section 5, equation 9.
    """
    if not difference:
        raise ValueError("no number of samples detects a difference of 0")
    factor = _factor(power, confidence)
    return max(1, math.ceil((factor * deviation / difference) ** 2 - 1e-9))


def paired_deviation(
    rate: float, *, disagreement: float | None = None, correlation: float = 0.5
) -> float:
    """Return the standard deviation of the differences between two binary scores.

    s² = d - (p₁ - p₂)² ≈ d,  d = share of samples on which only one is right
       = 2 p (1 - p) (1 - r)   for two models with the same rate p and correlation r
    """
    if disagreement is not None:
        return math.sqrt(disagreement)
    return math.sqrt(max(0.0, 2 * rate * (1 - rate) * (1 - correlation)))


def _factor(power: float, confidence: float) -> float:
    if not 0 < power < 1:
        raise ValueError(f"expected a power above 0 and below 1, got `{power}`")
    return normal_quantile(confidence) + normal_inverse(power)
