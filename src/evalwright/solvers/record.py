"""`record`: ask a model what a record of contract A asks.

Renders the few-shot examples and the prompt, generates once, post-processes. The text goes out as
one user message and nothing is added to it, whatever the model.
A log-probability above 0 is no probability: the model broke its contract, and the sample fails.
"""

import math
from collections.abc import Sequence
from time import perf_counter

from msgspec import structs

from evalwright.ports import Case
from evalwright.text.few_shot import render
from evalwright.text.post_process import post_process
from evalwright.types import Message, Request, Sample, Trace

_ROUNDING = 1e-6
"""How far above 0 the log-probability of a certain token may come out."""


class RecordSolver:
    """Render, generate, post-process."""

    name = "record"
    version = 1

    def reads(self, sample: Sample) -> str:
        """What is sent. The post-process rule is left out: it needs no model to change."""
        return render(sample.data)

    def revised(self, sample: Sample, trace: Trace) -> Trace:
        """The same output under the record's own rule."""
        rule = sample.data.post_process
        return structs.replace(trace, post_processed=post_process(trace.output, rule))

    async def solve(self, case: Case) -> Trace:
        """One generation for one trial of one record."""
        task = case.sample.data
        prompt = render(task)
        request = Request(messages=(Message("user", prompt),), sample=case.sample, trial=case.trial)
        started = perf_counter()
        completion = await case.model.complete(request)
        latency_s = perf_counter() - started
        logprobs = completion.logprobs
        nll = _nll(logprobs) if logprobs else None
        return Trace(
            input=prompt,
            output=completion.text,
            post_processed=post_process(completion.text, task.post_process),
            usage=completion.usage,
            latency_s=latency_s,
            finish=completion.finish,
            nll=nll,
            nll_tokens=len(logprobs) if logprobs else 0,
            confidence=math.exp(-nll / len(logprobs)) if logprobs and nll is not None else None,
        )


def _nll(logprobs: Sequence[float]) -> float:
    for logprob in logprobs:
        if not logprob <= _ROUNDING:  # NaN is not, either
            raise ValueError(f"expected log-probabilities of 0 or less, got `{logprob}`")
    return max(0.0, -math.fsum(logprobs))
