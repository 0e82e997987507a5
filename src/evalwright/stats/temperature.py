"""Temperature scaling: one number that makes a model as sure as it is right.

Promises:   the order of the answers stays as it was, whatever the temperature; the fit is the best
            one in the range, for any answers, and says so where it lies at an end of the range.
Does not:   move a confidence across 50 %. A model that is 60 % sure and right in 30 % of the cases
            is brought to 50 % and no further: that fit lies at the upper end.
"""

import math
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from evalwright.stats.arrays import Floats, Numbers, np, unit_values
from evalwright.stats.calibration import Groups, Verdicts, checked
from evalwright.stats.quantiles import normal_quantile

LOWEST, HIGHEST = 0.01, 100.0
"""The range of temperatures: beyond it every answer is certain, or every answer is 50 %."""

_CLIP = 1e-6
"""A confidence of 0 or 1 has no finite logit; this far from them it has."""
_STEPS = 100
_NEAR = 1e-9
"""When a fit is good enough, in terms of ln T."""


class Temperature(Struct, frozen=True, kw_only=True):
    """A fitted temperature, with its interval."""

    value: float
    """Above 1: the model was too sure. Below 1: not sure enough."""
    low: float
    high: float
    end: Literal["", "lowest", "highest"] = ""
    """Which end of the range it lies at, where the answers ask for more than that."""


def tempered(confidences: Numbers, temperature: float) -> Floats:
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


def log_loss(confidences: Numbers, correct: Verdicts, *, temperature: float = 1.0) -> float:
    """Return the negative log-likelihood of the verdicts at a temperature.

        -Σ (y·ln p' + (1 - y)·ln(1 - p'))

    What the fit makes small. Like the Brier score it is proper; unlike it, one answer that was
    wrong with certainty weighs more than many that were nearly right.
    Good (1952), J. Royal Statistical Society B 14(1).
    """
    p, y = checked(confidences, correct)
    return _loss(_logits(p), y, 1 / temperature)


def fit_temperature(
    confidences: Numbers,
    correct: Verdicts,
    *,
    groups: Groups | None = None,
    confidence: float = 0.95,
) -> Temperature:
    """Return the temperature at which the verdicts are most likely.

        T = argmin of log_loss(T) over [0.01, 100]
        [low, high] = where log_loss(T) - log_loss(fitted T) is at most d·z²/2

    The loss is convex in 1/T, so its slope goes through 0 once, or not in this range. One
    parameter cannot overfit as a curve can: that is its point. `groups` says which answers
    belong together, such as the trials of a record; d, 1 without them, is how many times more
    the slope varies between groups than between answers that do not depend on each other.
    Guo et al. (2017), ICML; Platt (1999), Advances in Large Margin Classifiers, whose slope 1/T
    is and whose offset is 0 here; Chandler & Bate (2007), Biometrika 94(1), for d.
    """
    p, y = checked(confidences, correct)
    if not p.size:
        raise ValueError("expected at least 1 answer, got none")
    x = _logits(p)
    if not np.any(x):  # all at 50 %, where no temperature moves them
        return Temperature(value=1.0, low=LOWEST, high=HIGHEST)
    # In terms of ln(1/T): the greater, the surer.
    flat, sharp = -math.log(HIGHEST), -math.log(LOWEST)
    best = _crossing(lambda at: _slope(x, y, math.exp(at)), flat, sharp)
    most = _loss(x, y, math.exp(best)) + _allowed(x, y, math.exp(best), groups, confidence)

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
    held = np.clip(p, _CLIP, 1 - _CLIP)
    logits: Floats = np.log(held) - np.log1p(-held)
    return logits


def _sigmoid(x: Floats) -> Floats:
    half: Floats = 0.5 * (1 + np.tanh(x / 2))  # neither end overflows
    return half


def _loss(x: Floats, y: Floats, sharpness: float) -> float:
    return float(np.logaddexp(0, (1 - 2 * y) * x * sharpness).sum())


def _slope(x: Floats, y: Floats, sharpness: float) -> float:
    return float(_slopes(x, y, sharpness).sum())


def _slopes(x: Floats, y: Floats, sharpness: float) -> Floats:
    """Of the loss of each answer, by the sharpness."""
    slopes: Floats = x * (_sigmoid(x * sharpness) - y)
    return slopes


def _allowed(
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
        found = rising(at)
        if not found or abs(at - before) < _NEAR:
            break
        if found < 0:
            low, below = at, found
            above, side = (above / 2, -1) if side < 0 else (above, -1)
        else:
            high, above = at, found
            below, side = (below / 2, 1) if side > 0 else (below, 1)
    return at


def _temperature(sharpness: float) -> float:
    """Of ln(1/T). Rounded, because e to the ln of an end is not quite that end."""
    return round(math.exp(-sharpness), 12)
