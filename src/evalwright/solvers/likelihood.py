"""Likelihoods of answers, options and documents.

A log-probability above 0 is invalid: the sample fails.
"""

import math
from collections.abc import Sequence
from time import perf_counter

from msgspec import Struct

from evalwright.ports import Case, Solver
from evalwright.stats.likelihood import log_likelihood, log_likelihoods, shares
from evalwright.types import Request, Sample, Trace


class Likelihood(Struct, frozen=True):
    """Summary of the log-probabilities of an answer."""

    nll: float | None = None
    nll_tokens: int = 0
    confidence: float | None = None
    answer: str = ""
    """The answer, if it was chosen from options."""
    options: dict[str, float] = {}
    """The log-likelihood of each option."""


def compute_likelihood(logprobs: Sequence[float] | None) -> Likelihood:
    """Return the negative log-likelihood and exp of the mean; None without log-probabilities."""
    if not logprobs:
        return Likelihood()
    nll = 0.0 - log_likelihood(logprobs)
    return Likelihood(nll, len(logprobs), math.exp(-nll / len(logprobs)))


def choose_likeliest(answers: Sequence[str], logprobs: Sequence[Sequence[float]]) -> Likelihood:
    """Choose the answer whose tokens have the highest likelihood; on a tie, the first.

    The confidence is the answer's share of the total likelihood of all answers.
    """
    options = log_likelihoods(answers, logprobs)
    answer = max(options, key=options.__getitem__)
    tokens = len(logprobs[answers.index(answer)])
    return Likelihood(0.0 - options[answer], tokens, shares(options)[answer], answer, options)


class LikelihoodSolver(Solver):
    """Computes the negative log-likelihood of a sample's text; the text is not stored."""

    name = "weighing"
    version = 1

    def describe_inputs(self, sample: Sample) -> str:
        """Return the id. Nothing is stored under this key; results are stored in the cache."""
        return sample.id

    async def solve(self, case: Case) -> Trace:
        """Call the model once."""
        request = Request(given=(case.sample.data,), sample=case.sample, trial=case.trial)
        started = perf_counter()
        completion = await case.model.complete(request)
        latency_s = perf_counter() - started
        if len(completion.given) != 1:
            raise ValueError(f"expected the likelihood of one text, got {len(completion.given)}")
        likelihood = compute_likelihood(completion.given[0])
        if likelihood.nll is None:
            raise ValueError("the model returned no token likelihoods for this document")
        return Trace(
            input="",
            output="",
            post_processed="",
            usage=completion.usage,
            latency_s=latency_s,
            nll=likelihood.nll,
            nll_tokens=likelihood.nll_tokens,
        )
