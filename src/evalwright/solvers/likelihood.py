"""What the log-probabilities of an answer amount to.

A log-probability above 0 is no probability: the model broke its contract, and the sample fails.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

from evalwright.stats.likelihood import log_likelihood, shares, weighed


class Likelihood(Struct, frozen=True):
    """What the log-probabilities of an answer amount to."""

    nll: float | None = None
    nll_tokens: int = 0
    confidence: float | None = None


class Choice(Struct, frozen=True):
    """The likeliest of several answers."""

    answer: str
    known: Likelihood
    options: dict[str, float]
    """The log-likelihood of each."""


def likelihood(logprobs: Sequence[float] | None) -> Likelihood:
    """Negative log-likelihood, and exp of the mean; nothing where there are none."""
    if not logprobs:
        return Likelihood()
    nll = 0.0 - log_likelihood(logprobs)
    return Likelihood(nll, len(logprobs), math.exp(-nll / len(logprobs)))


def likeliest(answers: Sequence[str], given: Sequence[Sequence[float]]) -> Choice:
    """Of the log-probabilities of each answer's tokens; of equals the first.

    Its confidence is its share of all their likelihoods.
    """
    options = weighed(answers, given)
    parts = shares(options)
    answer = max(options, key=options.__getitem__)
    tokens = len(given[answers.index(answer)])
    return Choice(answer, Likelihood(0.0 - options[answer], tokens, parts[answer]), options)
