"""How likely a model finds a text, and how that divides among several.

A log-probability above 0 is no probability, and neither is NaN: whoever sent it broke the contract.
"""

import math
from collections.abc import Mapping, Sequence

_ROUNDING = 1e-6
"""How far above 0 the log-probability of a certain token may come out."""


def log_likelihood(logprobs: Sequence[float]) -> float:
    """The sum of the log-probabilities of a text's tokens, 0 or less."""
    for logprob in logprobs:
        if not logprob <= _ROUNDING:  # NaN is not, either
            raise ValueError(f"expected log-probabilities of 0 or less, got `{logprob}`")
    return min(0.0, math.fsum(logprobs))


def weighed(texts: Sequence[str], given: Sequence[Sequence[float]]) -> dict[str, float]:
    """The log-likelihood of each text, of the log-probabilities of its tokens."""
    if len(given) != len(texts):
        raise ValueError(f"expected {len(texts)} weighed answers, got {len(given)}")
    for text, logprobs in zip(texts, given, strict=True):
        if not logprobs:
            raise ValueError(f"expected log-probabilities of `{text}`, got none")
    return dict(zip(texts, map(log_likelihood, given), strict=True))


def shares(log_likelihoods: Mapping[str, float]) -> dict[str, float]:
    """What part of all their likelihoods is each one's: their softmax.

    Scaled by the largest first, so that the likelihoods of long texts do not vanish all alike.
    Where every one is impossible there are no parts, and that is an error.
    """
    largest = max(log_likelihoods.values(), default=-math.inf)
    if largest == -math.inf:
        raise ValueError("every answer that was weighed is impossible, so none is the likeliest")
    scaled = {text: math.exp(one - largest) for text, one in log_likelihoods.items()}
    total = math.fsum(scaled.values())
    return {text: one / total for text, one in scaled.items()}
