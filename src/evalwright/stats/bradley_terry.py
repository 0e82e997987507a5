"""The Bradley-Terry model: strengths and ranks from pairwise comparisons.

Promises:   the strengths of maximum likelihood, where they exist; ranks where the comparisons
            decide them; the same intervals for the same seed.
Does not:   guess. Contestants that no comparison connects have no ranks, and a contestant that
            never lost has a rank, but no finite strength.
"""

from msgspec import Struct

from evalwright.stats.arrays import Booleans, Floats, Integers, chunks, np
from evalwright.stats.interval import Interval
from evalwright.stats.quantiles import ordered_quantile, student_confidence, tail

RESAMPLES = 1_000
_EQUAL_WITHIN = 1e-6
"""Strengths with a smaller relative difference share a rank."""
_PRECISE, _ROUGH = 1e-12, 1e-7
_MOST_ROUNDS = 5_000


class Fit(Struct, frozen=True):
    """Strengths and ranks for one or more tables of wins: a row per table."""

    strengths: Floats
    """Their geometric mean is 1. NaN if the comparisons do not determine them."""
    ranks: Floats
    """From 1; equal strengths share the smallest. NaN if the comparisons leave it open."""


def fit(wins: Floats, *, tolerance: float = _PRECISE) -> Fit:
    """Fit tables of wins: `wins[t, i, j]` is how often i won against j; a tie is half a win each.

        P(i wins against j) = sᵢ / (sᵢ + sⱼ);  sᵢ ← Σⱼ wᵢⱼ sⱼ/(sᵢ + sⱼ) / Σⱼ wⱼᵢ/(sᵢ + sⱼ)

    The fixed point is the maximum of the likelihood; it is finite if each contestant can be reached
    from each other one by wins. Otherwise, groups that can are fitted on their own: a group that
    never lost to another one ranks above it.
    Bradley & Terry (1952), Biometrika 39(3/4); Newman (2023), JMLR 24(238), for the iteration;
    Ford (1957), The American Mathematical Monthly 64(8), for when it is finite.
    """
    reaches = find_reach(wins)
    is_mutual = reaches & reaches.transpose(0, 2, 1)
    strengths = _iterate(np.where(is_mutual, wins, 0.0), tolerance)
    is_stronger = strengths[:, :, None] > strengths[:, None, :] * (1 + _EQUAL_WITHIN)
    is_above = np.where(is_mutual, is_stronger, reaches)
    is_decided = np.all(reaches | reaches.transpose(0, 2, 1), axis=2)
    ranks = np.where(is_decided, 1.0 + is_above.sum(axis=1), np.nan)
    is_finite = np.all(is_mutual, axis=(1, 2), keepdims=True)[:, 0]
    return Fit(np.where(is_finite, strengths, np.nan), ranks)


def find_reach(wins: Floats) -> Booleans:
    """Return which contestant is connected to which by a chain of wins, itself included."""
    contestants = wins.shape[1]
    reach = ((wins > 0) | np.eye(contestants, dtype=bool)).astype(np.float32)
    length = 1
    while length < contestants:
        reach = np.minimum(reach @ reach, 1)
        length *= 2
    reaches: Booleans = reach > 0
    return reaches


def _iterate(wins: Floats, tolerance: float) -> Floats:
    strengths = np.ones(wins.shape[:2])
    for _ in range(_MOST_ROUNDS):
        before = strengths.copy()
        for i in range(wins.shape[1]):
            sums = strengths[:, i, None] + strengths
            won = (wins[:, i] * strengths / sums).sum(axis=1)
            lost = (wins[:, :, i] / sums).sum(axis=1)
            strengths[:, i] = np.divide(won, lost, out=np.ones_like(won), where=lost > 0)
        strengths /= np.exp(np.log(strengths).mean(axis=1, keepdims=True))
        if np.abs(np.log(strengths / before)).max(initial=0.0) < tolerance:
            break
    return strengths


def count_wins(first: Integers, second: Integers, scores: Floats, contestants: int) -> Floats:
    """Return the table of wins; a score is the share of the win that goes to the first."""
    cells = contestants * contestants
    won = np.bincount(first * contestants + second, scores, cells)
    lost = np.bincount(second * contestants + first, 1 - scores, cells)
    table: Floats = np.asarray(won + lost, dtype=np.float64).reshape(contestants, contestants)
    return table


class FitIntervals(Struct, frozen=True):
    """The intervals of a fit, contestant by contestant; None where there is none."""

    strengths: list[Interval | None]
    ranks: list[Interval | None]


def resample(
    first: Integers, second: Integers, scores: Floats, contestants: int, *, seed: int = 0
) -> FitIntervals:
    """Return percentile intervals over resampled comparisons.

        [q(a/2), q(1 - a/2)] of the fits of comparisons drawn with replacement

    The level a is that of Student's width. Resamples that leave a strength or a rank open are left
    out of its interval; None if that is most of them, or if all strengths are equal in all of them.
    The ends of the interval of a rank are whole numbers.
    """
    n = scores.size
    if n < 2:  # noqa: PLR2004 - one comparison has no spread
        return FitIntervals([None] * contestants, [None] * contestants)
    rng = np.random.Generator(np.random.PCG64(seed))
    fits = []
    for size in chunks(RESAMPLES, max(contestants * contestants, n // 4)):
        drawn = rng.integers(0, n, (size, n))
        tables = [count_wins(first[row], second[row], scores[row], contestants) for row in drawn]
        fits.append(fit(np.stack(tables), tolerance=_ROUGH))
    out = tail(student_confidence(0.95, n))
    strengths = np.concatenate([each.strengths for each in fits])
    ranks = np.concatenate([each.ranks for each in fits])
    if np.nanmax(ranks, initial=1.0) == 1.0:  # there are only ties
        return FitIntervals([None] * contestants, [None] * contestants)
    return FitIntervals(
        [_percentiles(column, out) for column in strengths.T],
        [_whole(_percentiles(column, out)) for column in ranks.T],
    )


def _percentiles(drawn: Floats, out: float) -> Interval | None:
    values = np.sort(drawn[np.isfinite(drawn)])
    if 2 * values.size < drawn.size:
        return None
    low, high = ordered_quantile(values, out), ordered_quantile(values, 1 - out)
    return Interval(low, high, "bootstrap")


def _whole(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return Interval(float(np.floor(interval.low)), float(np.ceil(interval.high)), interval.method)
