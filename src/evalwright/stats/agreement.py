"""How far runs and judges agree: modal share, Cohen's kappa, Pearson's and Spearman's correlation.

Promises:  the same interval for the same seed, whatever the order of the samples; None where one of
           two lists does not vary: nothing can go together with it.
Does not:  say more than its pairs: where both gave every sample one and the same label, chance
           explains all of it, and kappa is undefined (None). Nor say whether numbers are equal:
           1, 2, 3 and 10, 20, 30 correlate perfectly.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from evalwright.stats.arrays import Floats, Numbers, np
from evalwright.stats.interval import EQUAL_WITHIN, Interval, wilson
from evalwright.stats.quantiles import normal_quantile
from evalwright.stats.sums import distinct, sums_interval


def score_agreement(values: Sequence[Hashable]) -> float:
    """Return the share of runs that give the most common value.

        max over v of #{i : x_i = v}  /  n

    1 where all runs agree, 1/n where no two do. It is not corrected for chance: of two values at
    random it is above a half by itself, for few runs far above. Of 5 fair coins the mean is 0.69.
    The proportion in the modal category: Freeman (1965), Elementary Applied Statistics, chapter 4.
    """
    if not values:
        raise ValueError("expected at least 1 value, got none")
    return max(Counter(values).values()) / len(values)


Pairs = Mapping[tuple[Any, Any], int]
"""How often one said this and the other that."""
_NOTHING = 1e-12
"""What rounding leaves of 0."""
_MOST_RESAMPLED = 32
"""Labels that both gave: with more of them, theory is as good as resampling, and far cheaper."""


def cohen_kappa(pairs: Pairs) -> float | None:
    """Return Cohen's kappa; None without pairs, and where chance alone explains everything.

        (o - e) / (1 - e),  o = share of equal labels,  e = Σ over labels of share₁ · share₂

    Cohen (1960), Educational and Psychological Measurement 20(1), 37-46.
    """
    rows, counts = _label_rows(pairs)
    return _value_or_none(_cohen_of_sums((counts @ rows)[None, :])) if counts.size else None


def cohen_kappa_interval(
    pairs: Pairs, *, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Return the bootstrap interval of Cohen's kappa over samples; None if they show no spread.

    With many labels, the normal interval of its asymptotic error. Where all agree, or none, a
    bound: kappa at the other end of Wilson's interval of the agreement, chance being what it is
    seen to be. Where one of the two always says the same, kappa is 0 whatever the other says, and
    nothing is known of it.
    """
    rows, counts = _label_rows(pairs)
    value = cohen_kappa(pairs)
    ours, theirs = _count_labels(pairs)
    if value is None or min(len(ours), len(theirs)) == 1:
        return None
    n, equal = map(int, (counts @ rows)[:2])
    if equal == n:
        return Interval(_kappa_bound(pairs, wilson(n, n, confidence=confidence).low), 1.0, "bound")
    drawn = (
        _asymptotic_interval(pairs, confidence=confidence)
        if rows.shape[1] > 2 + 2 * _MOST_RESAMPLED
        else sums_interval(rows, counts, _cohen_of_sums, confidence=confidence, seed=seed)
    )
    if equal:
        return drawn
    least = min(value, drawn.low) if drawn else value
    return Interval(least, _kappa_bound(pairs, wilson(0, n, confidence=confidence).high), "bound")


def _kappa_bound(pairs: Pairs, equal: float) -> float:
    """Kappa if so large a share were equal, and the labels as they are."""
    ours, theirs = _count_labels(pairs)
    chance = sum(count * theirs[label] for label, count in ours.items()) / ours.total() ** 2
    return float((equal - chance) / (1 - chance))


def _count_labels(pairs: Pairs) -> tuple[Counter[Any], Counter[Any]]:
    ours, theirs = Counter[Any](), Counter[Any]()
    for (our, their), count in pairs.items():
        if count > 0:
            ours[our] += count
            theirs[their] += count
    return ours, theirs


def _asymptotic_interval(pairs: Pairs, *, confidence: float) -> Interval | None:
    """κ ± z·√v.

    n(1-e)⁴·v = Σ p_ii((1-e) - (p_i. + p_.i)(1-o))² + (1-o)² Σ p_ij(p_.i + p_j.)² - (oe - 2e + o)²

    Fleiss, Cohen & Everitt (1969), Psychological Bulletin 72(5), 323-327.
    """
    n = sum(pairs.values())
    ours, theirs = _count_labels(pairs)
    o = sum(count for (our, their), count in pairs.items() if our == their) / n
    e = sum(count * theirs[label] for label, count in ours.items()) / n**2
    kappa = cohen_kappa(pairs)
    if kappa is None:
        return None
    total = -((o * e - 2 * e + o) ** 2)
    for (our, their), count in pairs.items():
        if our == their:
            total += count / n * ((1 - e) - (ours[our] + theirs[our]) / n * (1 - o)) ** 2
        else:
            total += count / n * (1 - o) ** 2 * ((theirs[our] + ours[their]) / n) ** 2
    half = normal_quantile(confidence) * math.sqrt(max(total, 0.0) / n) / (1 - e) ** 2
    return Interval(max(-1.0, kappa - half), min(1.0, kappa + half), "asymptotic") if half else None


def quadratic_kappa(one: Numbers, other: Numbers) -> float | None:
    """Return the quadratic-weighted kappa of two lists of numbers; None where it is undefined.

        1 - Σ (x - y)² / Σ over all pairs of samples of (x - y)² / n
          = 2·cov / (var₁ + var₂ + (mean₁ - mean₂)²)

    The second form needs no table of grades, and is defined for any numbers: of numbers that are
    not whole it is known as Lin's concordance.
    Cohen (1968), Psychological Bulletin 70(4); Lin (1989), Biometrics 45(1), for the second form.
    """
    rows = moments(one, other)
    return _value_or_none(_quadratic_of_sums(rows.sum(axis=0)[None, :])) if len(rows) else None


def quadratic_kappa_interval(
    one: Numbers, other: Numbers, *, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Return the bootstrap interval of it over samples; None if one of the two does not vary.

    Where it is 1 or -1, a bound: of what Wilson's interval leaves open, every pair could be as far
    from that as the numbers seen allow.
    """
    x, y = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    value = quadratic_kappa(x, y)
    if value is None or min(np.ptp(x), np.ptp(y)) <= EQUAL_WITHIN * max(np.abs([*x, *y])):
        return None
    if 1 - abs(value) <= EQUAL_WITHIN:
        open_ = 1 - wilson(x.size, x.size, confidence=confidence).low
        lost = min(2.0, open_ * float(np.ptp(x) ** 2 / (2 * x.var())))
        return Interval(1 - lost, 1.0, "bound") if value > 0 else Interval(-1.0, lost - 1, "bound")
    return moments_interval(x, y, _quadratic_of_sums, confidence=confidence, seed=seed)


def moments(one: Numbers, other: Numbers) -> Floats:
    """Return 1, x, y, x², y², xy of each sample: what correlations are computed from.

    Both are moved by one number and divided by another first, which changes no correlation, so
    that squares of numbers far from 0 lose nothing.
    """
    x, y = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"expected as many numbers in both, got {x.size} and {y.size}")
    if not x.size:
        return np.empty((0, 6))
    middle = (x.mean() + y.mean()) / 2
    scale = max(float(np.abs(x - middle).max()), float(np.abs(y - middle).max())) or 1.0
    x, y = (x - middle) / scale, (y - middle) / scale
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def moments_interval(
    one: Numbers, other: Numbers, statistic: Any, *, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Return the bootstrap interval of a statistic of the sums of `moments`."""
    rows = moments(one, other)
    if not len(rows):
        return None
    return sums_interval(*distinct(rows), statistic, confidence=confidence, seed=seed)


def _label_rows(pairs: Pairs) -> tuple[Floats, Any]:
    """Of each pair: 1, whether both are equal, who of both gave which label.

    A label that only one of them gave adds nothing to chance, and has no column.
    """
    seen = {pair: n for pair, n in sorted(pairs.items(), key=str) if n > 0}
    shared = {our for our, _ in seen} & {their for _, their in seen}
    place = {label: index for index, label in enumerate(sorted(shared, key=str))}
    rows = np.zeros((len(seen), 2 + 2 * len(place)))
    for row, (our, their) in zip(rows, seen, strict=True):
        row[0], row[1] = 1, our == their
        if our in place:
            row[2 + place[our]] = 1
        if their in place:
            row[2 + len(place) + place[their]] = 1
    return rows, np.array(list(seen.values()), dtype=np.int64)


def _cohen_of_sums(sums: Floats) -> Floats:
    n = sums[:, 0]
    labels = (sums.shape[1] - 2) // 2
    chance = (sums[:, 2 : 2 + labels] * sums[:, 2 + labels :]).sum(axis=1) / n**2
    return _ratio(sums[:, 1] / n - chance, 1 - chance)


def _quadratic_of_sums(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = sums.T
    return _ratio(2 * (xy / n - x * y / n**2), (xx + yy) / n - 2 * x * y / n**2)


def _ratio(above: Floats, below: Floats) -> Floats:
    """NaN where there is nothing to divide by, or only what rounding has left."""
    ratio = np.full(below.shape, np.nan)
    np.divide(above, below, out=ratio, where=np.abs(below) > _NOTHING)
    return ratio


def _value_or_none(values: Floats) -> float | None:
    return float(values[0]) if np.isfinite(values[0]) else None


_FEWEST = 4
"""Below it the standard error of Spearman's coefficient does not exist."""


def pearson(one: Numbers, other: Numbers) -> float | None:
    """Return cov(x, y) / (s_x · s_y), from -1 to 1; None where one of them does not vary."""
    rows = moments(one, other)
    return _value_or_none(_pearson_of_sums(rows.sum(axis=0)[None, :])) if len(rows) else None


def pearson_interval(
    one: Numbers, other: Numbers, *, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Return the bootstrap interval of it over samples; None below 4 of them, and at -1 and 1.

    Of three points, most resamples lie on a line, and say nothing.
    """
    r = pearson(one, other)
    if r is None or len(one) < _FEWEST or 1 - abs(r) < _NOTHING:
        return None
    return moments_interval(one, other, _pearson_of_sums, confidence=confidence, seed=seed)


def spearman(one: Numbers, other: Numbers) -> float | None:
    """Return Pearson's coefficient of the ranks; equal numbers share the mean of their ranks."""
    return pearson(ranks(one), ranks(other))


def spearman_interval(one: Numbers, other: Numbers, *, confidence: float = 0.95) -> Interval | None:
    """Return the interval of Spearman's coefficient; None below 4 samples, and at -1 and 1.

        tanh(artanh r ± z·√((1 + r²/2) / (n - 3)))

    Bonett & Wright (2000), Psychometrika 65(1), 23-28.
    """
    r = spearman(one, other)
    n = len(one)
    if r is None or n < _FEWEST or 1 - abs(r) < _NOTHING:
        return None
    half = normal_quantile(confidence) * math.sqrt((1 + r * r / 2) / (n - 3))
    return Interval(math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half), "fisher-z")


def ranks(numbers: Numbers) -> Floats:
    """Return the rank of each number, from 1; of equal ones the mean of theirs."""
    values = np.asarray(numbers, dtype=np.float64)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: Floats = (last - (counts - 1) / 2)[inverse]
    return shared


def _pearson_of_sums(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = sums.T
    variances = (xx / n - (x / n) ** 2, yy / n - (y / n) ** 2)
    values = np.full(n.shape, np.nan)
    varies = (variances[0] > _NOTHING) & (variances[1] > _NOTHING)
    root = np.sqrt(np.maximum(variances[0] * variances[1], 0))
    np.divide(xy / n - x * y / n**2, root, out=values, where=varies)
    return np.clip(values, -1, 1)
