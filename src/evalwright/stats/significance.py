"""Tests of paired differences, and the correction for several tests.

    mcnemar_exact     binary scores: is one of two kinds of disagreement more common?
    sign_flip_test    any scores: is the mean difference larger than random signs would make it?
    holm              several tests at once

Promises:   the same p-value for `a - b` and `b - a`, for the same seed, in any order of samples.
Does not:   reach the nominal size with few samples: a test of n counts has few possible p-values,
            so McNemar's exact test calls far fewer than 5 % of equal models different at n = 20.
"""

import math
from collections.abc import Sequence

from evalwright.stats.arrays import Floats, chunks, np
from evalwright.stats.quantiles import normal_cdf

_ENUMERATED = 14
"""Up to this many differences that are not zero, all signs are enumerated."""
_LARGE = 2_000
"""From this many on, the sum of random signs is normal, unless a few differences dominate."""
_DOMINANT = 0.01
"""Share of the sum of squares from which one difference counts as dominant."""
_SMALLEST_LOG = -745.0


def mcnemar_exact(wins: int, losses: int) -> float:
    """Return the two-sided exact p-value of McNemar's test.

        p = min(1, 2 · P(X ≤ min(b, c))),  X ~ Binomial(b + c, 1/2)

    `wins` and `losses` count the samples on which only one side is right. Samples on which both
    agree carry no information. Unlike the chi-squared version, it holds with few disagreements.
    McNemar (1947), Psychometrika 12(2); Fay (2010), Biostatistics 11(2), on the exact test.
    """
    n, fewer = wins + losses, min(wins, losses)
    if min(wins, losses) < 0:
        raise ValueError(f"expected counts of 0 or more, got {wins} and {losses}")
    if not n or wins == losses:
        return 1.0
    log_total = math.lgamma(n + 1) - n * math.log(2)
    k = np.arange(fewer + 1, dtype=np.float64)
    # Terms grow with k, so the sum of the last ones is the sum, however many there are.
    logs = log_total - _log_factorials(k) - _log_factorials(n - k)
    return min(1.0, 2 * float(np.exp(np.maximum(logs, _SMALLEST_LOG)).sum()))


def _log_factorials(numbers: Floats) -> Floats:
    """Return log(k!) by Stirling's series, exact to 1e-10; small k from a table."""
    table = np.asarray([math.lgamma(k + 1) for k in range(16)])
    z = np.maximum(numbers, 15.0) + 1
    series = (z - 0.5) * np.log(z) - z + 0.5 * math.log(2 * math.pi)
    series += 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5)
    small = np.minimum(numbers, 15).astype(np.int64)
    return np.where(numbers < 16, table[small], series)  # noqa: PLR2004 - size of the table


def sign_flip_test(
    differences: Floats | Sequence[float], *, resamples: int = 10_000, seed: int = 0
) -> float:
    """Return the two-sided p-value of the sign-flip permutation test of a mean of zero.

        p = P(|Σ ±d| ≥ |Σ d|) over random signs

    If two models are equally good, each difference may as well have the other sign. The test needs
    no distribution, only that. All signs are enumerated where that is possible; otherwise they are
    drawn, and p = (1 + how many are as extreme) / (1 + draws). With thousands of differences of
    similar size, Σ ±d is normal with variance Σd².
    Fisher (1935), The Design of Experiments, section 21; Phipson & Smyth (2010), SAGMB 9(1), for
    the 1 + in both places.
    """
    values = np.asarray(differences, dtype=np.float64)
    values = np.sort(np.abs(values[values != 0]))
    total = float(np.abs(np.asarray(differences, dtype=np.float64).sum()))
    n = values.size
    if not n:
        return 1.0
    values, total = values / values[-1], total / float(values[-1])
    squares = float((values**2).sum())
    reached = total * (1 - 1e-9) - 1e-12
    if n <= _ENUMERATED:
        signs = 1 - 2 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
        return float((np.abs(signs @ values) >= reached).mean())
    if n >= _LARGE and 1 / squares < _DOMINANT:
        return 2 * normal_cdf(-total / math.sqrt(squares))
    generator = np.random.default_rng(seed)
    extreme = 0
    for rows in chunks(resamples, n):
        bits = generator.integers(0, 2, size=(rows, n), dtype=np.int8)
        extreme += int((np.abs((1 - 2 * bits) @ values) >= reached).sum())
    return (1 + extreme) / (1 + resamples)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for their number, in the same order.

        adjusted(i) = max over j ≤ i of min(1, (m - j) · p(j)),  p(0) ≤ p(1) ≤ … sorted

    If no models differ, the chance that any adjusted p-value is below 5 % is at most 5 %, however
    the tests depend on each other. Unlike Bonferroni's correction, it is uniformly more powerful.
    Holm (1979), Scandinavian Journal of Statistics 6(2).
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
