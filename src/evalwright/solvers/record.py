"""`record`: send the prompt of a task record to a model.

Renders the few-shot examples and the prompt as one user message, generates one answer and
post-processes it.

With `weighs`, the solver generates nothing for records of category `mcq`. Instead, the model
computes the likelihood of each letter that the prompt offers, and the most likely letter is the
answer. If fewer than two letters are found in the prompt, all legal letters are used. The text of
an option is not considered.
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
    """Renders the prompt, generates or chooses an answer, and post-processes it."""

    name = "record"
    version = 1

    def __init__(self, *, weighs: bool = False) -> None:
        """`weighs`: whether multiple-choice records are answered by likelihood."""
        self._weighs = weighs

    def weighs_options(self, sample: Sample) -> bool:
        """Whether the answer is the most likely option."""
        return self._weighs and sample.data.category == "mcq"

    def describe_inputs(self, sample: Sample) -> str:
        """Return the request without the post-process rule, whose change needs no model call."""
        prompt = render(sample.data)
        if not self.weighs_options(sample):
            return prompt
        return "\n".join(("loglikelihood", " ".join(find_letters(sample.data)), prompt))

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """Apply the current post-process rule to the output; keep a letter chosen by likelihood."""
        task = sample.data
        if self.weighs_options(sample):
            _check_target(task, find_letters(task))
            return trace
        return structs.replace(trace, post_processed=post_process(trace.output, task.post_process))

    async def solve(self, case: Case) -> Trace:
        """Generate or choose an answer for one trial of a record."""
        task = case.sample.data
        letters: tuple[str, ...] = ()
        if self.weighs_options(case.sample):
            letters = find_letters(task)
            _check_target(task, letters)
        prompt = render(task)
        request = Request(
            messages=(Message("user", prompt),), given=letters, sample=case.sample, trial=case.trial
        )
        started = perf_counter()
        completion = await case.model.complete(request)
        latency_s = perf_counter() - started
        if letters:
            likelihood = choose_likeliest(letters, completion.given)
            output = post_processed = likelihood.answer
        else:
            likelihood = compute_likelihood(completion.logprobs)
            output = completion.text
            post_processed = post_process(output, task.post_process)
        return Trace(
            input=prompt,
            output=output,
            post_processed=post_processed,
            usage=completion.usage,
            latency_s=latency_s,
            finish="stop" if letters else completion.finish,
            nll=likelihood.nll,
            nll_tokens=likelihood.nll_tokens,
            confidence=likelihood.confidence,
            options=likelihood.options,
        )


def find_letters(task: TaskSpec) -> tuple[str, ...]:
    """Return the letters to choose from: the letters in the prompt, or all legal letters."""
    return tuple(option.letter for option in find_options(task.prompt)) or tuple(LETTERS)


def _check_target(task: TaskSpec, letters: tuple[str, ...]) -> None:
    """Raise if no choice can be correct, because the target is not among the letters."""
    target = task.targets[0]
    if target not in letters:
        raise ValueError(
            f"the target is {target}, but the prompt offers {', '.join(letters)}: no choice can "
            "be correct; fix the target or the options"
        )
