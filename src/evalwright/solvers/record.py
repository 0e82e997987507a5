"""`record`: ask a model what a record of contract A asks.

Renders the few-shot examples and the prompt, generates once, post-processes. The text goes out as
one user message and nothing is added to it, whatever the model.
"""

from time import perf_counter

from msgspec import structs

from evalwright.ports import Case
from evalwright.solvers.likelihood import likelihood
from evalwright.text.few_shot import render
from evalwright.text.post_process import post_process
from evalwright.types import Message, Request, Sample, Trace


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
        known = likelihood(completion.logprobs)
        return Trace(
            input=prompt,
            output=completion.text,
            post_processed=post_process(completion.text, task.post_process),
            usage=completion.usage,
            latency_s=latency_s,
            finish=completion.finish,
            nll=known.nll,
            nll_tokens=known.nll_tokens,
            confidence=known.confidence,
        )
