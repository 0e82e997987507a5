"""How surprised a model is by a text."""

import math
from collections.abc import Sequence


def perplexity(nll: float | Sequence[float], tokens: int | Sequence[int]) -> float:
    """Return exp of the mean negative log-likelihood of a token.

        exp(Σ nll / Σ tokens),  natural logarithms

    Summed first, divided once: a mean of the texts' own perplexities would weigh a short text
    as much as a long one. No tokens: NaN. Beyond what a float holds: infinity.
    A negative NLL is a probability above 1, so whoever sent it broke the contract.
    Jelinek, Mercer, Bahl & Baker (1977), J. Acoust. Soc. Am. 62(S1), S63.
    """
    losses = [float(nll)] if isinstance(nll, int | float) else [float(loss) for loss in nll]
    counts = [tokens] if isinstance(tokens, int) else list(tokens)
    if len(losses) != len(counts):
        raise ValueError(f"expected one token count an NLL, got {len(counts)} and {len(losses)}")
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
