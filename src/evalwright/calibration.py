"""Measure how well confidence matches accuracy: `ew.calibration.ece([0.8], [True])`.

    answer_confidence    a model's confidence, from the log-probabilities of its tokens
    ece, brier_score     expected calibration error and Brier score; 0 is best
    brier_parts          reliability, resolution and uncertainty
    ece_interval, brier_interval
                         confidence intervals for both
    reliability_bins     confidence and accuracy per bin, for a reliability diagram
    fit_temperature      the temperature that best matches confidence to accuracy
    apply_temperature    confidences at a given temperature
    perplexity           exp of the mean negative log-likelihood per token

Confidences are probabilities in [0, 1]; `correct` has one boolean (or 1 or 0) per confidence. NaN,
values outside [0, 1] and lists of different lengths raise `ValueError`. For empty input, ECE and
Brier score are 0.0 and perplexity is NaN, as required by the specification of task records; other
functions raise `ValueError`.
"""

from collections.abc import Sequence

from evalwright.stats import calibration
from evalwright.stats.arrays import Numbers
from evalwright.stats.calibration import Bin, BrierParts, Temperature, Verdicts, fit_temperature
from evalwright.stats.interval import Interval
from evalwright.stats.likelihood import log_likelihood, perplexity

__all__ = [
    "Bin",
    "BrierParts",
    "Temperature",
    "answer_confidence",
    "apply_temperature",
    "brier_interval",
    "brier_parts",
    "brier_score",
    "ece",
    "ece_interval",
    "fit_temperature",
    "perplexity",
    "reliability_bins",
]


def answer_confidence(logprobs: Sequence[float]) -> float:
    """Return exp of the mean log-probability of an answer's tokens.

    >>> round(ew.calibration.answer_confidence([-0.1, -0.3]), 3)
    0.819
    """
    if not len(logprobs):
        raise ValueError("expected at least 1 log-probability, got none: `logprobs` is empty")
    return 1 / perplexity(-log_likelihood(logprobs), len(logprobs))


def ece(confidences: Numbers, correct: Verdicts, *, bins: int = 10) -> float:
    """Return the expected calibration error: the mean gap between confidence and accuracy.

        Σ over bins of  n_b/N · |accuracy_b - mean confidence_b|

    Bins have equal width. The value depends on the number of bins, so compare only values with the
    same `bins`.
    Naeini, Cooper & Hauskrecht (2015), AAAI; Guo et al. (2017), ICML.

    >>> round(ew.calibration.ece([0.9, 0.9, 0.6, 0.6], [True, True, True, False]), 3)
    0.1
    >>> ew.calibration.ece([], [])
    0.0
    """
    return calibration.measure_calibration(confidences, correct, bins=bins).ece


def brier_score(confidences: Numbers, correct: Verdicts) -> float:
    """Return the mean squared difference between confidence and verdict.

        1/N · Σ (p - y)²

    A constant confidence of 50 % scores 0.25. Brier (1950), Monthly Weather Review 78(1).

    >>> round(ew.calibration.brier_score([0.9, 0.2], [True, False]), 3)
    0.025
    """
    return calibration.measure_calibration(confidences, correct).brier


def brier_parts(confidences: Numbers, correct: Verdicts, *, bins: int = 10) -> BrierParts:
    """Split the Brier score into reliability, resolution and uncertainty.

    The Brier score is reliability - resolution + uncertainty + within_bin. `within_bin` is 0 if all
    confidences in each bin are equal. Murphy (1973), J. Applied Meteorology 12(4).

    >>> parts = ew.calibration.brier_parts([0.9, 0.9, 0.2, 0.2], [True, True, False, True])
    >>> round(parts.reliability, 3), round(parts.resolution, 3), parts.uncertainty
    (0.05, 0.062, 0.1875)
    """
    _require_answers(confidences)
    return calibration.measure_calibration(confidences, correct, bins=bins).parts


def ece_interval(
    confidences: Numbers,
    correct: Verdicts,
    *,
    bins: int = 10,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the confidence interval for the expected calibration error.

    Random variation alone creates gaps, so ECE is biased upward. The lower bound corrects for this.

    >>> interval = ew.calibration.ece_interval([0.9] * 100, [True] * 50 + [False] * 50)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.28, 0.5)
    """
    _require_answers(confidences)
    interval = calibration.ece_interval(
        confidences, correct, bins=bins, confidence=confidence, seed=seed
    )
    return _require_interval(interval)


def brier_interval(
    confidences: Numbers, correct: Verdicts, *, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """Return the confidence interval for the Brier score.

    >>> interval = ew.calibration.brier_interval([0.9] * 10, [True] * 5 + [False] * 5)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.17, 0.7)
    """
    _require_answers(confidences)
    interval = calibration.brier_interval(confidences, correct, confidence=confidence, seed=seed)
    return _require_interval(interval)


def reliability_bins(confidences: Numbers, correct: Verdicts, *, bins: int = 10) -> list[Bin]:
    """Return the count, mean confidence and accuracy of each bin in a reliability diagram.

    Empty bins are included; their confidence and accuracy are None.

    >>> for part in ew.calibration.reliability_bins([0.4, 0.9, 0.8], [False, True, True], bins=2):
    ...     print(part.low, part.high, part.count, part.accuracy)
    0.0 0.5 1 0.0
    0.5 1.0 2 1.0
    """
    return calibration.measure_calibration(confidences, correct, bins=bins).bins


def apply_temperature(confidences: Numbers, temperature: float) -> list[float]:
    """Return the confidences at a temperature.

    A temperature above 1 moves confidences closer to 50 %; one below 1 moves them away from 50 %.

        p' = sigmoid(logit(p) / T)

    Guo et al. (2017), On Calibration of Modern Neural Networks, ICML, section 4.2.

    >>> [round(p, 3) for p in ew.calibration.apply_temperature([0.9, 0.5, 0.1], 2.0)]
    [0.75, 0.5, 0.25]
    """
    _require_answers(confidences)
    return [float(p) for p in calibration.apply_temperature(confidences, temperature)]


def _require_answers(confidences: Numbers) -> None:
    if not len(confidences):
        raise ValueError("expected at least 1 confidence, got none: `confidences` is empty")


def _require_interval(interval: Interval | None) -> Interval:
    if interval is None:
        raise ValueError("expected at least 1 answer, got none")
    return interval
