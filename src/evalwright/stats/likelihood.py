"""How likely a model finds a text: log-likelihood, shares among several texts, perplexity.

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


def log_likelihoods(texts: Sequence[str], logprobs: Sequence[Sequence[float]]) -> dict[str, float]:
    """The log-likelihood of each text, of the log-probabilities of its tokens."""
    if len(logprobs) != len(texts):
        raise ValueError(
            f"expected the log-probabilities of {len(texts)} answers, got {len(logprobs)}"
        )
    for text, tokens in zip(texts, logprobs, strict=True):
        if not tokens:
            raise ValueError(f"expected log-probabilities of `{text}`, got none")
    return dict(zip(texts, map(log_likelihood, logprobs), strict=True))


def shares(likelihoods: Mapping[str, float]) -> dict[str, float]:
    """What part of all their likelihoods is each one's: their softmax.

    Scaled by the largest first, so that the likelihoods of long texts do not vanish all alike.
    Where every one is impossible there are no parts, and that is an error.
    """
    largest = max(likelihoods.values(), default=-math.inf)
    if largest == -math.inf:
        raise ValueError("every answer has probability 0, so none is the likeliest")
    scaled = {text: math.exp(value - largest) for text, value in likelihoods.items()}
    total = math.fsum(scaled.values())
    return {text: value / total for text, value in scaled.items()}


def perplexity(nll: float | Sequence[float], tokens: int | Sequence[int]) -> float:
    """Return exp of the mean negative log-likelihood per token.

        exp(Σ nll / Σ tokens),  natural logarithms

    Sums are taken before dividing, because a mean of individual perplexities would give a short
    document as much weight as a long one. The result is NaN if there are no tokens, and infinity if
    it exceeds the range of a float. A negative NLL, which would mean a probability above 1, raises
    `ValueError`.
    Jelinek, Mercer, Bahl & Baker (1977), J. Acoust. Soc. Am. 62(S1), S63.

    >>> round(ew.calibration.perplexity([2.0, 4.0], [3, 3]), 3)
    2.718
    """
    losses = [float(nll)] if isinstance(nll, int | float) else [float(loss) for loss in nll]
    counts = [tokens] if isinstance(tokens, int) else list(tokens)
    if len(losses) != len(counts):
        raise ValueError(f"expected one token count per NLL, got {len(counts)} and {len(losses)}")
    for index, (loss, count) in enumerate(zip(losses, counts, strict=True)):
        if not loss >= 0:
            raise ValueError(f"expected an NLL of 0 or more, got `{loss}` - at `nll[{index}]`")
        if count < 0:
            raise ValueError(f"expected 0 tokens or more, got `{count}` - at `tokens[{index}]`")
    total = sum(counts)
    if not total:
        return math.nan
    try:
        return math.exp(math.fsum(losses) / total)
    except OverflowError:
        return math.inf
