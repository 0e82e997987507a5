"""A document, weighed: how likely a model finds a text that it did not write.

Nothing is said to the model, and nothing added: the document is all that there is. What a model
weighs, token by token, is its own affair, windows of a long text included.
"""

from time import perf_counter

from evalwright.ports import Case
from evalwright.solvers.likelihood import likelihood
from evalwright.types import Request, Sample, Trace


class WeighingSolver:
    """The text of a sample in, its negative log-likelihood out; the text itself is not kept."""

    name = "weighing"
    version = 1

    def reads(self, sample: Sample) -> str:
        """Nothing is stored under its key: what is weighed is kept by the cache."""
        return sample.id

    def revised(self, sample: Sample, trace: Trace) -> Trace:
        """As it is."""
        del sample
        return trace

    async def solve(self, case: Case) -> Trace:
        """Ask once."""
        request = Request(given=(case.sample.data,), sample=case.sample, trial=case.trial)
        started = perf_counter()
        completion = await case.model.complete(request)
        latency_s = perf_counter() - started
        if len(completion.given) != 1:
            raise ValueError(f"expected one weighed text, got {len(completion.given)}")
        known = likelihood(completion.given[0])
        if known.nll is None:
            raise ValueError("the model has weighed no token of this document")
        return Trace(
            input="",
            output="",
            post_processed="",
            usage=completion.usage,
            latency_s=latency_s,
            nll=known.nll,
            nll_tokens=known.nll_tokens,
        )
