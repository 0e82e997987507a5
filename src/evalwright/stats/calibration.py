"""Whether a model that is 80 % sure is right 80 % of the time, and what makes it so.

Bins are of equal width on [0, 1]: [0, 1/M), [1/M, 2/M), …, and the last one holds 1 too.
Empty input gives 0.0 and empty bins, without a warning; a report shows null instead, because
nothing was measured.
Does not: take the bias out of ECE. It comes out too high when bins hold few answers, even for a
model that is calibrated; the interval knows that, the figure does not.

Temperature scaling is one number that makes a model as sure as it is right. The order of the
answers stays as it was; the fit is the best one in the range, for any answers, and says so where it
lies at an end of the range.
Does not: move a confidence across 50 %. A model that is 60 % sure and right in 30 % of the cases is
brought to 50 % and no further: that fit lies at the upper end.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from evalwright.stats.arrays import Booleans, Floats, Integers, Numbers, np, unit_values
from evalwright.stats.interval import Interval, wilson
from evalwright.stats.quantiles import normal_quantile, ordered_quantile, tail
from evalwright.stats.rates import grouped_mean_interval

Verdicts = Sequence[bool] | Numbers | Booleans
Groups = Sequence[int] | Integers

_RESAMPLES = 5_000
_BEYOND_CHANCE = 2.0
"""Standard errors from which on the gap of a bin is not taken for chance."""


class Bin(Struct, frozen=True, kw_only=True):
    """One bar of a reliability diagram. An empty bin has no confidence or accuracy."""

    low: float
    high: float
    count: int
    confidence: float | None
    """Mean confidence of the answers in the bin."""
    accuracy: float | None
    """Share of the bin's answers that are right."""


class BrierParts(Struct, frozen=True, kw_only=True):
    """The Brier score as reliability - resolution + uncertainty + within_bin."""

    reliability: float
    """How far confidence is from accuracy; 0 is best."""
    resolution: float
    """How much accuracy differs between bins; higher is better."""
    uncertainty: float
    """How hard the answers were to predict; depends only on accuracy."""
    within_bin: float
    """Variation hidden within bins; 0 if all confidences in each bin are equal."""


class Calibration(Struct, frozen=True, kw_only=True):
    """All calibration figures of one set of answers."""

    ece: float
    brier: float
    parts: BrierParts
    bins: list[Bin]
    populated_bins: int
    n: int


class _Groups(Struct, frozen=True):
    """Answers with the bin of each, and each bin's count, mean confidence and accuracy."""

    confidences: Floats
    correct: Floats
    index: Integers
    counts: Floats
    confidence: Floats
    accuracy: Floats


def measure_calibration(confidences: Numbers, correct: Verdicts, *, bins: int = 10) -> Calibration:
    """Return every calibration figure at once."""
    groups = _group_answers(confidences, correct, bins)
    diagram = _reliability_bins(groups)
    return Calibration(
        ece=_ece(groups),
        brier=_brier(groups),
        parts=_decompose_brier(groups),
        bins=diagram,
        populated_bins=sum(1 for part in diagram if part.count),
        n=groups.correct.size,
    )


def _ece(groups: _Groups) -> float:
    """Return the expected calibration error.

        Σ over bins of  n_b/N · |accuracy_b - mean confidence_b|

    One number for the diagram. It depends on the number of bins, so compare like with like.
    Naeini, Cooper & Hauskrecht (2015), AAAI; Guo et al. (2017), ICML, eq. 3, whose bins are
    closed on the right: that differs for a confidence that is exactly an edge.
    """
    gaps = np.abs(groups.accuracy - groups.confidence)
    return float(groups.counts @ gaps) / max(groups.correct.size, 1)


def _brier(groups: _Groups) -> float:
    """Return the Brier score: 0 is best, 0.25 is what always saying 50 % gets.

        1/N · Σ (p - y)²

    A proper score: a model gains nothing by stating a confidence that it does not hold.
    Brier (1950), Monthly Weather Review 78(1), in its one-sided form.
    """
    losses = (groups.confidences - groups.correct) ** 2
    return float(np.mean(losses)) if losses.size else 0.0


def _decompose_brier(groups: _Groups) -> BrierParts:
    """Split the Brier score into what can be mended and what cannot.

        reliability  1/N Σ n_b (p_b - y_b)²        p_b mean confidence, y_b accuracy of a bin
        resolution   1/N Σ n_b (y_b - y)²          y accuracy of all
        uncertainty  y (1 - y)
        within_bin   1/N Σ (p - p_b)² - 2/N Σ (p - p_b)(y_i - y_b)

    Murphy's three parts are exact when every confidence in a bin is the same. Confidences
    of models hardly ever are, so the fourth part closes the sum: always, to rounding.
    Murphy (1973), J. Applied Meteorology 12(4); Stephenson, Coelho & Jolliffe (2008), Weather
    and Forecasting 23(4), for the fourth.
    """
    n = max(groups.correct.size, 1)
    accuracy = float(groups.correct.sum()) / n
    off = groups.confidences - groups.confidence[groups.index]
    missed = groups.correct - groups.accuracy[groups.index]
    return BrierParts(
        reliability=float(groups.counts @ (groups.confidence - groups.accuracy) ** 2) / n,
        resolution=float(groups.counts @ (groups.accuracy - accuracy) ** 2) / n,
        uncertainty=accuracy * (1 - accuracy),
        within_bin=float(off @ off - 2 * (off @ missed)) / n,
    )


def _reliability_bins(groups: _Groups) -> list[Bin]:
    """Return the reliability diagram: all bins from 0 to 1, the empty ones too.

        confidence = mean p of the bin,  accuracy = share of right answers in it

    DeGroot & Fienberg (1983), The Statistician 32(1/2).
    """
    edges = _edges(groups.counts.size)
    return [
        Bin(
            low=float(edges[i]),
            high=float(edges[i + 1]),
            count=int(count),
            confidence=float(groups.confidence[i]) if count else None,
            accuracy=float(groups.accuracy[i]) if count else None,
        )
        for i, count in enumerate(groups.counts)
    ]


def brier_interval(
    confidences: Numbers,
    correct: Verdicts,
    *,
    groups: Groups | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """Return the interval of the Brier score; None for no answers.

        grouped_mean_interval of (p - y)²;  where all are right (or wrong), high is at least what
        it would be with as many wrong (right) as Wilson's interval of the accuracy allows

    Where all are right the squares hardly differ, and say nothing of the wrong answers that have
    not been met yet. `groups` says which answers belong together, such as the trials of a record.
    """
    p, y = check_answers(confidences, correct)
    losses = (p - y) ** 2
    interval = grouped_mean_interval(losses, groups, confidence=confidence, seed=seed)
    if interval is None or np.ptp(y):
        return interval
    right = _accuracy_interval(y, groups, confidence)
    others = 1 - right.low if y[0] else right.high
    unseen = losses + others * ((p - 1 + y) ** 2 - losses)
    return Interval(interval.low, max(interval.high, float(unseen.mean())), interval.method)


def ece_interval(
    confidences: Numbers,
    correct: Verdicts,
    *,
    bins: int = 10,
    groups: Groups | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """Return the interval of the expected calibration error; None for no answers.

        high = the upper end of the mean of s_b·(y - p),  s_b the sign of the gap of its bin;
               where all are right (or wrong) at least the gap to Wilson's end of the accuracy
        low  = ECE - the 97.5 % quantile of  Σ |g_b + e_b| - |g_b|,   e_b ~ normal(0, v_b)
        g_b  = Σ_b (y - p) / N,  or 0 where that is within 2√v_b and so may be chance
        v_b  = the greater of Σ_b (y - p)² and Σ_b p(1 - p), / N²

    Chance makes gaps, and ECE adds them up without their signs: it is too high on average, most
    of all for a model that is calibrated. Resampling answers adds chance to chance and repeats
    that bias, so that a plain bootstrap interval can lie above the figure itself and never
    reaches 0. Here the lower end allows for all that chance adds, so that it is 0 for a calibrated
    model; the upper end needs to allow for none of it. p(1 - p) is how verdicts would vary if the
    bin were calibrated: a bin whose answers are all right shows no variance of its own.
    It is for the ECE of these bins, of answers without end. It is rather too wide than too narrow:
    `bench/calibration.py` simulates it.
    Bröcker & Smith (2007), Weather and Forecasting 22(3), for chance in a calibrated bin; Andrews
    & Soares (2010), Econometrica 78(1), for telling the gaps that may be 0 from the others.
    """
    answers = _group_answers(confidences, correct, bins)
    n = answers.correct.size
    if not n:
        return None
    apart = answers.correct - answers.confidences
    gaps = np.bincount(answers.index, weights=apart, minlength=bins).astype(np.float64)
    sides = np.where(gaps < 0, -1.0, 1.0)
    signed = (sides[answers.index] * apart + 1) / 2
    above = grouped_mean_interval(signed, groups, confidence=confidence, seed=seed)
    value = _ece(answers)
    high = max(
        value, 2 * above.high - 1 if above else value, _overall_gap(answers, groups, confidence)
    )
    errors = np.sqrt(_chance_variance(answers, apart, groups))
    chance = _added_by_chance(gaps, errors, out=tail(confidence), seed=seed) / n
    return Interval(max(0.0, value - chance), min(1.0, high), "bootstrap")


def _overall_gap(answers: _Groups, groups: Groups | None, confidence: float) -> float:
    """How large the gap of all answers may be, which no ECE is below; 0 unless all are alike.

    Answers that are all right hardly differ, and their mean looks surer than it is.
    """
    if np.ptp(answers.correct):
        return 0.0
    right = _accuracy_interval(answers.correct, groups, confidence)
    sure = float(answers.confidences.mean())
    return max(sure - right.low, right.high - sure)


def _accuracy_interval(correct: Floats, groups: Groups | None, confidence: float) -> Interval:
    """Wilson's interval; answers of a group count as one."""
    n = correct.size if groups is None else np.unique(np.asarray(groups)).size
    return wilson(float(correct.mean()) * n, n, confidence=confidence)


def _chance_variance(answers: _Groups, apart: Floats, groups: Groups | None) -> Floats:
    """The variance of the summed gap of each bin; answers of a group that share one go together."""
    bins = answers.counts.size
    p = answers.confidences
    calibrated = np.bincount(answers.index, weights=p * (1 - p), minlength=bins)
    if groups is None:
        seen = np.bincount(answers.index, weights=apart**2, minlength=bins)
    else:
        _, group = np.unique(np.asarray(groups), return_inverse=True)
        cells, cell = np.unique(group * bins + answers.index, return_inverse=True)
        sums = np.bincount(cell, weights=apart)
        seen = np.bincount(cells % bins, weights=sums**2, minlength=bins)
    chance: Floats = np.maximum(calibrated, seen)
    return chance


def _added_by_chance(gaps: Floats, errors: Floats, *, out: float, seed: int) -> float:
    """How much chance may add to the sum of absolute gaps, at most but for a share of `out`."""
    real = np.where(np.abs(gaps) > _BEYOND_CHANCE * errors, gaps, 0.0)[errors > 0]
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = rng.standard_normal((_RESAMPLES, real.size)) * errors[errors > 0] + real
    added = np.sort(np.abs(drawn).sum(axis=1) - np.abs(real).sum())
    return max(0.0, ordered_quantile(added, 1 - out))


def check_answers(confidences: Numbers, correct: Verdicts) -> tuple[Floats, Floats]:
    """Return both as arrays; refuse what is no confidence or no verdict, saying which one."""
    p = unit_values(confidences, "confidences")
    y = unit_values(np.asarray(correct, dtype=np.float64), "correct")
    if p.size != y.size:
        raise ValueError(f"expected one verdict per confidence, got {y.size} and {p.size}")
    between = np.flatnonzero((y != 0) & (y != 1))
    if between.size:
        first = int(between[0])
        raise ValueError(f"expected true or false, got `{y[first]}` - at `correct[{first}]`")
    return p, y


def _group_answers(confidences: Numbers, correct: Verdicts, bins: int) -> _Groups:
    if bins < 1:
        raise ValueError(f"expected at least 1 bin, got `{bins}`")
    p, y = check_answers(confidences, correct)
    # Compared with the edges themselves: int(0.29 * 100) is 28, although 0.29 opens bin 29.
    index = np.minimum(np.searchsorted(_edges(bins), p, side="right") - 1, bins - 1)
    counts = np.bincount(index, minlength=bins).astype(np.float64)
    share = np.maximum(counts, 1)
    confidence = np.bincount(index, weights=p, minlength=bins) / share
    accuracy = np.bincount(index, weights=y, minlength=bins) / share
    return _Groups(p, y, index, counts, confidence, accuracy)


def _edges(bins: int) -> Floats:
    return np.arange(bins + 1) / bins


LOWEST, HIGHEST = 0.01, 100.0
"""The range of temperatures: beyond it every answer is certain, or every answer is 50 %."""

_CLIP = 1e-6
"""A confidence of 0 or 1 has no finite logit; this far from them it has."""
_STEPS = 100
_NEAR = 1e-9
"""When a fit is good enough, in terms of ln T."""


class Temperature(Struct, frozen=True, kw_only=True):
    """A fitted temperature with its confidence interval."""

    value: float
    """A value above 1 means that the model was overconfident, a value below 1 that it was
    underconfident."""
    low: float
    high: float
    end: Literal["", "lowest", "highest"] = ""
    """The end of the allowed range that was reached, if the best temperature is beyond it;
    otherwise empty."""


def apply_temperature(confidences: Numbers, temperature: float) -> Floats:
    """Return the confidences at a temperature.

        p' = sigmoid(logit(p) / T),  logit(p) = ln(p / (1 - p))

    Above 1 it draws all of them towards 50 %, below 1 away from it. Confidences are cut to
    [0.000001, 0.999999] first, so that a temperature can move certainty, too.
    Guo et al. (2017), On Calibration of Modern Neural Networks, ICML, section 4.2, for one
    probability in the place of a softmax.
    """
    if not temperature > 0:
        raise ValueError(f"expected a temperature above 0, got `{temperature}`")
    return _sigmoid(_logits(unit_values(confidences, "confidences")) / temperature)


def fit_temperature(
    confidences: Numbers,
    correct: Verdicts,
    *,
    groups: Groups | None = None,
    confidence: float = 0.95,
) -> Temperature:
    """Return the temperature that maximizes the likelihood of the verdicts.

        T = argmin of loss(T) over [0.01, 100],   loss(T) = -Σ (y·ln p' + (1 - y)·ln(1 - p'))
        [low, high] = where loss(T) - loss(fitted T) is at most d·z²/2

    The loss is convex in 1/T, so its slope is 0 at most once in this range. A single parameter
    overfits less than a curve. `groups` identifies answers that belong together, such as a sample's
    trials. d is the ratio of the slope's variance between groups to its variance between
    independent answers; without groups, it is 1.
    Guo et al. (2017), ICML; Platt (1999), Advances in Large Margin Classifiers, with slope 1/T
    and offset 0; Good (1952), J. Royal Statistical Society B 14(1), for the loss;
    Chandler & Bate (2007), Biometrika 94(1), for d.

    >>> fitted = ew.calibration.fit_temperature([0.9] * 10, [True] * 7 + [False] * 3)
    >>> round(fitted.value, 2), fitted.low < fitted.value < fitted.high
    (2.59, True)
    """
    p, y = check_answers(confidences, correct)
    if not p.size:
        raise ValueError("expected at least 1 answer, got none")
    if groups is not None and len(groups) != p.size:
        raise ValueError(f"expected one group per confidence, got {len(groups)} and {p.size}")
    x = _logits(p)
    if not np.any(x):  # all at 50 %, where no temperature moves them
        return Temperature(value=1.0, low=LOWEST, high=HIGHEST)
    # In terms of ln(1/T): the greater, the surer.
    flat, sharp = -math.log(HIGHEST), -math.log(LOWEST)
    best = _crossing(lambda at: float(_slopes(x, y, math.exp(at)).sum()), flat, sharp)
    most = _loss(x, y, math.exp(best)) + _allowed_loss(x, y, math.exp(best), groups, confidence)

    def beyond(at: float) -> float:
        return _loss(x, y, math.exp(at)) - most

    surest = _crossing(beyond, best, sharp)
    least_sure = _crossing(lambda at: -beyond(at), flat, best)
    return Temperature(
        value=_temperature(best),
        low=_temperature(surest),
        high=_temperature(least_sure),
        end="highest" if best == flat else "lowest" if best == sharp else "",
    )


def _logits(p: Floats) -> Floats:
    clipped = np.clip(p, _CLIP, 1 - _CLIP)
    logits: Floats = np.log(clipped) - np.log1p(-clipped)
    return logits


def _sigmoid(x: Floats) -> Floats:
    half: Floats = 0.5 * (1 + np.tanh(x / 2))  # neither end overflows
    return half


def _loss(x: Floats, y: Floats, sharpness: float) -> float:
    return float(np.logaddexp(0, (1 - 2 * y) * x * sharpness).sum())


def _slopes(x: Floats, y: Floats, sharpness: float) -> Floats:
    """Of the loss of each answer, by the sharpness."""
    slopes: Floats = x * (_sigmoid(x * sharpness) - y)
    return slopes


def _allowed_loss(
    x: Floats, y: Floats, sharpness: float, groups: Groups | None, confidence: float
) -> float:
    """How far above its least the loss may lie, for a temperature that is in the interval."""
    slopes = _slopes(x, y, sharpness)
    alone = float(slopes @ slopes)
    more = 1.0
    if groups is not None and alone:
        _, index = np.unique(np.asarray(groups), return_inverse=True)
        together = np.bincount(index, weights=slopes)
        more = max(1.0, float(together @ together) / alone)
    return more * normal_quantile(confidence) ** 2 / 2


def _crossing(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises goes through 0; the end that is nearer, where it does not.

    The Illinois rule: a straight line between the ends says where to look next, and an end that
    stays for a second time counts half. Dowell & Jarratt (1971), BIT 11(2).
    """
    below, above = rising(low), rising(high)
    if below >= 0:
        return low
    if above <= 0:
        return high
    at, side = math.inf, 0
    for _ in range(_STEPS):
        before, at = at, (low * above - high * below) / (above - below)
        value = rising(at)
        if not value or abs(at - before) < _NEAR:
            break
        if value < 0:
            low, below = at, value
            above, side = (above / 2, -1) if side < 0 else (above, -1)
        else:
            high, above = at, value
            below, side = (below / 2, 1) if side > 0 else (below, 1)
    return at


def _temperature(sharpness: float) -> float:
    """Of ln(1/T). Rounded, because e to the ln of an end is not quite that end."""
    return round(math.exp(-sharpness), 12)
