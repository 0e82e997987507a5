"""`record`: ask a model what a record of contract A asks.

Renders the few-shot examples and the prompt, generates once, post-processes. The text goes out as
one user message and nothing is added to it, whatever the model.

A solver that `weighs` generates nothing for a record of category `mcq`: the model says how likely
it finds each letter that the prompt offers, and the likeliest is the answer. Where fewer than two
letters are found in the prompt, all that a target may be are weighed.

Does not:   weigh the text of an option, or anything else than its letter, in upper case.
"""

from time import perf_counter

from msgspec import structs

from evalwright.ports import Case
from evalwright.solvers.likelihood import choose_likeliest, compute_likelihood
from evalwright.text.post_process import post_process
from evalwright.text.prompt import find_options, render
from evalwright.types import Message, Request, Sample, TaskSpec, Trace
from evalwright.vocabulary import LETTERS


class RecordSolver:
    """Render, generate or weigh, post-process."""

    name = "record"
    version = 1

    def __init__(self, *, weighs: bool = False) -> None:
        """`weighs`: whether multiple choice is answered by likelihood."""
        self._weighs = weighs

    def weighs_options(self, sample: Sample) -> bool:
        """Whether the sample is answered by the likeliest of its options."""
        return self._chooses(sample.data)

    def describe_inputs(self, sample: Sample) -> str:
        """What is sent. The post-process rule is left out: it needs no model to change."""
        task = sample.data
        if not self._chooses(task):
            return render(task)
        return "\n".join(("loglikelihood", " ".join(offered(task)), render(task)))

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """The same output under the record's own rule; a letter that was chosen stays."""
        task = sample.data
        if self._chooses(task):
            _check_target(task)
            return trace
        return structs.replace(trace, post_processed=post_process(trace.output, task.post_process))

    async def solve(self, case: Case) -> Trace:
        """One generation, or one choice, for one trial of one record."""
        task = case.sample.data
        if self._chooses(task):
            return await _chosen(case)
        prompt = render(task)
        request = Request(messages=(Message("user", prompt),), sample=case.sample, trial=case.trial)
        started = perf_counter()
        completion = await case.model.complete(request)
        latency_s = perf_counter() - started
        known = compute_likelihood(completion.logprobs)
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

    def _chooses(self, task: TaskSpec) -> bool:
        return self._weighs and task.category == "mcq"


def offered(task: TaskSpec) -> tuple[str, ...]:
    """The letters to choose from: those of the prompt, or all that a target may be."""
    return tuple(option.letter for option in find_options(task.prompt)) or tuple(LETTERS)


async def _chosen(case: Case) -> Trace:
    task = case.sample.data
    _check_target(task)
    prompt, letters = render(task), offered(task)
    request = Request(
        messages=(Message("user", prompt),), given=letters, sample=case.sample, trial=case.trial
    )
    started = perf_counter()
    completion = await case.model.complete(request)
    latency_s = perf_counter() - started
    choice = choose_likeliest(letters, completion.given)
    return Trace(
        input=prompt,
        output=choice.answer,
        post_processed=choice.answer,
        usage=completion.usage,
        latency_s=latency_s,
        nll=choice.known.nll,
        nll_tokens=choice.known.nll_tokens,
        confidence=choice.known.confidence,
        options=choice.options,
    )


def _check_target(task: TaskSpec) -> None:
    """Among letters that do not have it no choice can be right: that is no fault of the model."""
    letters, target = offered(task), task.targets[0]
    if target not in letters:
        raise ValueError(
            f"the target is {target}, but the prompt offers {', '.join(letters)}: no choice can be "
            "right; mend the target or the options"
        )
