"""The interval of a mean when all values are equal: the sample shows no spread at all."""

from evalwright.stats.interval import Interval
from evalwright.stats.quantiles import tail

EQUAL_WITHIN = 1e-9
"""Values closer than this are the same value: 0.1 + 0.2 and 0.3 are."""


def constant_bound(
    value: float, n: int, *, confidence: float = 0.95, floor: float = 0.0, ceiling: float = 1.0
) -> Interval:
    """Bound the mean of values in [floor, ceiling] of which n were seen, all equal to `value`.

        [value - q·(value - floor),  value + q·(ceiling - value)],  q = 1 - a^(1/(n-1)),
        a = 1 - confidence

    Resampling equal values gives equal means: a bootstrap would claim certainty. What n equal
    values do tell is that other values are rare. A value of share p is seen n times of n with
    chance p^n, and over all values with p < 1 - q these chances sum to less than
    (1-q)^(n-1) = a: so the others' share is below q, or something rarer than a has happened.
    How far off they lie is unknown, so they are put at the ends of the range. This holds for
    any distribution and any n; for n = 1 it is the whole range.
    The rule of three of Hanley & Lippman-Hand (1983), JAMA 249(13), for a value that was not
    named beforehand: hence n - 1 and not n.
    """
    if n < 1:
        raise ValueError(f"expected at least 1 value, got `{n}`")
    if not floor <= value <= ceiling:
        raise ValueError(f"expected a value in [{floor}, {ceiling}], got `{value}`")
    missed = 2 * tail(confidence)
    others = 1.0 if n == 1 else 1 - missed ** (1 / (n - 1))
    low = value - others * (value - floor)
    high = value + others * (ceiling - value)
    return Interval(max(floor, low), min(ceiling, high), "bound")
