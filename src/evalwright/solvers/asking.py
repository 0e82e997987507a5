"""What solvers share: asking a model, keeping account, and making the trace."""

from time import perf_counter
from typing import Any

from msgspec import Struct, structs

from evalwright.objects import SolverTrace, answer_text, output_items, readable, shown
from evalwright.ports import Case, Model
from evalwright.solvers.likelihood import likelihood
from evalwright.solvers.messages import messages_of
from evalwright.types import Completion, Message, MLTask, Request, Sample, Trace, Usage

_ANSWERS = {"function_call", "custom_task_output_message"}


class Asked(Struct, frozen=True, kw_only=True):
    """What a model is asked: messages and more keys, or the input of another task."""

    messages: tuple[Message, ...] = ()
    input: Any = None
    task: MLTask = "chat_completion"


class Talk:
    """One sample on its way: what is said, what came back, and what that cost."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.items: list[dict[str, Any]] = []
        self.raw_outputs: list[Any] = []
        """Of the evaluated model."""
        self.direct_ios: list[dict[str, str]] = []
        self.latency_s = 0.0
        self._usage = Usage(cost=0.0)
        self._completions: list[Completion] = []

    async def ask(self, asked: Asked, *, sample: Sample | None = None) -> Any:
        """What the evaluated model gives back, counted and kept among the raw outputs."""
        completion = await self._complete(self.case.model, asked, sample)
        raw = raw_output(completion, asked.task)
        self._completions.append(completion)
        self._usage = _sum(self._usage, completion.usage)
        self.raw_outputs.append(raw)
        return raw

    async def generate(self) -> Any:
        """Ask for the next message of the conversation, and add it."""
        raw = await self.ask(Asked(messages=messages_of(self.items)))
        self.items += output_items(raw)
        return raw

    async def ask_another(self, model: Model, asked: Asked) -> str:
        """What another model says: no output of the evaluated one, and not its usage."""
        completion = await self._complete(model, asked, None)
        return answer_text(raw_output(completion, asked.task)) or completion.text

    def place(self) -> tuple[int, int]:
        """How far it has come, to go back to."""
        return len(self.items), len(self.raw_outputs)

    def go_back(self, place: tuple[int, int]) -> None:
        """Take back what was said since; what it cost stays."""
        items, outputs = place
        del self.items[items:], self.raw_outputs[outputs:], self._completions[outputs:]

    async def _complete(self, model: Model, asked: Asked, sample: Sample | None) -> Completion:
        request = Request(
            messages=asked.messages,
            sample=self.case.sample if sample is None else sample,
            trial=self.case.trial,
            task=asked.task,
            input=asked.input,
            takes_all=True,  # an author's scorer may be about refusals
        )
        started = perf_counter()
        completion = await model.complete(request)
        self.latency_s += perf_counter() - started
        if completion.bodies is not None:
            sent, came = completion.bodies
            self.direct_ios.append({"input": sent, "output": came})
        return completion

    def conversation(self) -> dict[str, Any]:
        """All that was said, as JSON."""
        return {
            "items": self.items,
            "raw_outputs": self.raw_outputs,
            "direct_ios": self.direct_ios,
        }

    def trace(self, *, asked: str | None = None) -> Trace:
        """What the engine keeps; `asked` where it is not what stands in the conversation."""
        return self.trace_of(self.conversation(), asked=asked)

    def trace_of(self, conversation: dict[str, Any], *, asked: str | None = None) -> Trace:
        """The same for a conversation that somebody else has put together."""
        last = self._completions[-1] if self._completions else None
        answer = answer_in(conversation)
        if not answer and last and conversation["raw_outputs"]:
            answer = last.text  # a model that only wants functions called: show the calls
        known = likelihood(last.logprobs if last else None)
        return Trace(
            input=asked_in(conversation) if asked is None else asked,
            output=answer,
            post_processed=answer,
            usage=self._usage,
            latency_s=self.latency_s,
            finish=last.finish if last else "stop",
            nll=known.nll,
            nll_tokens=known.nll_tokens,
            confidence=known.confidence,
            conversation=conversation,
        )


def raw_output(completion: Completion, task: MLTask) -> Any:
    """What a model gave back, in the shape that authors know."""
    if task == "custom":
        return completion.text if completion.output is None else completion.output
    counted = {
        "num_prompt_tokens": completion.usage.prompt_tokens,
        "num_completion_tokens": completion.usage.completion_tokens,
    }
    if isinstance(completion.output, dict):
        usage = completion.output.get("usage") or {}
        return {**completion.output, "usage": {**counted, **usage}}
    if task == "embeddings":
        raise ValueError("expected embeddings, got a model that answers with text")
    message = {"role": "assistant", "content": completion.text}
    return {"choices": [{"message": message}], "usage": counted}


def asked_in(conversation: dict[str, Any]) -> str:
    """What was said before the last answer, as a person reads it."""
    items = conversation["items"]
    answers = [place for place, one in enumerate(items) if _is_answer(one)]
    if not answers:
        return readable(items)
    start = answers[-1]
    while start and items[start]["type"] == "function_call" and _is_answer(items[start - 1]):
        start -= 1  # several calls, and the words before them, are one answer
    return readable(items[:start])


def answer_in(conversation: dict[str, Any]) -> str:
    """The answer's text; of embeddings and of a custom task, its JSON."""
    raw_outputs = conversation["raw_outputs"]
    if raw_outputs and (text := answer_text(raw_outputs[-1])):  # nearly always, and fast
        return text
    output = SolverTrace.from_json(conversation).output
    return "" if output is None else shown(output)


def _is_answer(item: dict[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") in _ANSWERS


def _sum(one: Usage, other: Usage) -> Usage:
    """A cost that is not known makes the sum unknown."""
    known = one.cost is not None and other.cost is not None
    return structs.replace(
        one,
        requests=one.requests + other.requests,
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        cost=(one.cost or 0.0) + (other.cost or 0.0) if known else None,
    )
