"""What the log-probabilities of an answer amount to.

A log-probability above 0 is no probability: the model broke its contract, and the sample fails.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

_ROUNDING = 1e-6
"""How far above 0 the log-probability of a certain token may come out."""


class Likelihood(Struct, frozen=True):
    """What the log-probabilities of an answer amount to."""

    nll: float | None = None
    nll_tokens: int = 0
    confidence: float | None = None


def likelihood(logprobs: Sequence[float] | None) -> Likelihood:
    """Negative log-likelihood, and exp of the mean; nothing where there are none."""
    if not logprobs:
        return Likelihood()
    for logprob in logprobs:
        if not logprob <= _ROUNDING:  # NaN is not, either
            raise ValueError(f"expected log-probabilities of 0 or less, got `{logprob}`")
    nll = max(0.0, -math.fsum(logprobs))
    return Likelihood(nll, len(logprobs), math.exp(-nll / len(logprobs)))
