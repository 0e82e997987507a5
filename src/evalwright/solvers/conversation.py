"""Shared code of solvers: query models, count usage and build the trace.

Items of a trace become the messages that are sent to a chat model. A function call is attached to
the preceding assistant message. Content that cannot be sent to a model (an image, reasoning that is
not text) is omitted if the model itself produced it; otherwise, an error is raised.
"""

from collections.abc import Iterable
from time import perf_counter
from typing import Any, Literal, cast

from msgspec import Struct, structs

from evalwright.objects import (
    SolverTrace,
    answer_text,
    extra_fields,
    output_items,
    readable,
    text_of,
    to_text,
)
from evalwright.ports import Case, Model
from evalwright.solvers.likelihood import Likelihood, choose_likeliest, compute_likelihood
from evalwright.types import (
    Called,
    Completion,
    Message,
    MLTask,
    Request,
    Sample,
    ToolCall,
    Trace,
    Usage,
)

Role = Literal["system", "user", "assistant"]
ROLES = ("system", "user", "assistant")

_TEXTS = {"input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text"}


_FOR_READERS = {
    "annotations",
    "audio",
    "function_call",
    "logprobs",
    "reasoning",
    "reasoning_content",
}
"""Reply fields of OpenAI's protocol that some servers reject in a request."""


def build_chat(items: Iterable[dict[str, Any]], keys: dict[str, Any] | None = None) -> "ModelInput":
    """Return the chat for the model to continue; `keys` are additional keys of the request."""
    fields: list[tuple[int, dict[str, Any]]] = []
    messages = build_messages(items, fields)
    return ModelInput(messages=messages, input=keys or None, message_fields=tuple(fields))


def build_messages(
    items: Iterable[dict[str, Any]], fields: list[tuple[int, dict[str, Any]]] | None = None
) -> tuple[Message, ...]:
    """Return a message for every item that a chat can represent, in order.

    Other fields of a message are added to `fields` with the index of the message.
    """
    messages: list[Message] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            if fields is not None and (extra := extra_fields(item)):
                sent = {name: value for name, value in extra.items() if name not in _FOR_READERS}
                fields.append((len(messages), sent))
            messages.append(Message(parse_role(item.get("role")), _read_text(item.get("content"))))
        elif kind == "function_call":
            messages.append(_add_call(messages, item))
        elif kind == "function_call_output":
            call_id = str(item.get("call_id") or "")
            messages.append(Message("tool", _read_text(item.get("output")), tool_call_id=call_id))
        elif kind == "custom_task_input_message":
            raise ValueError("expected messages in a chat, got the input of a custom task")
    if not messages:
        raise ValueError("expected at least one message to send, got none")
    return tuple(messages)


def parse_role(role: Any) -> Role:
    """Return the role if it is valid; `developer` means `system`."""
    if role == "developer":
        return "system"
    if role not in ROLES:
        raise ValueError(f"expected `system`, `user` or `assistant` as a role, got `{role}`")
    return cast("Role", role)


def _add_call(messages: list[Message], item: dict[str, Any]) -> Message:
    call = ToolCall(
        str(item.get("call_id") or ""),
        Called(str(item.get("name") or ""), str(item.get("arguments") or "{}")),
    )
    if messages and messages[-1].role == "assistant":
        last = messages.pop()
        return Message("assistant", last.content, tool_calls=(*last.tool_calls, call))
    return Message("assistant", "", tool_calls=(call,))


def _read_text(content: Any) -> str:
    for part in content if isinstance(content, list) else ():
        kind = "text" if isinstance(part, str) else part.get("type")
        if kind not in _TEXTS:
            raise ValueError(f"expected text as the content of a message, got `{kind}`")
    return text_of(content)


_SUCCESS = 200
"""Status of every stored reply, because failed requests have no completion."""
_ANSWERS = {"function_call", "custom_task_output_message"}


class ModelInput(Struct, frozen=True, kw_only=True):
    """A request: messages and other keys, or the input for a task other than chat."""

    messages: tuple[Message, ...] = ()
    input: Any = None
    task: MLTask = "chat_completion"
    given: tuple[str, ...] = ()
    """Answers to score by likelihood. If empty, an answer is generated."""
    message_fields: tuple[tuple[int, dict[str, Any]], ...] = ()
    """Other fields of the messages, with the index of the message."""


class Conversation:
    """The conversation, outputs and usage of a sample in progress."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.items: list[dict[str, Any]] = []
        self.raw_outputs: list[Any] = []
        """Usage of the evaluated model."""
        self.direct_ios: list[dict[str, Any]] = []
        self.latency_s = 0.0
        self._usage = Usage(cost=0.0)
        self._completions: list[Completion] = []
        self._choice: Likelihood | None = None
        """The most likely answer, if likelihoods were computed."""

    async def ask(self, model_input: ModelInput, *, sample: Sample | None = None) -> Any:
        """Query the evaluated model; store the output, count its usage and return it."""
        completion = await self._complete(self.case.model, model_input, sample)
        if model_input.given:
            self._choice = choose_likeliest(model_input.given, completion.given)
            completion = structs.replace(completion, text=self._choice.answer)
        raw = raw_output(completion, model_input.task)
        self._completions.append(completion)
        self._usage += completion.usage
        self.raw_outputs.append(raw)
        return raw

    async def generate(self) -> Any:
        """Query the evaluated model for the next message and add it to the conversation."""
        raw = await self.ask(build_chat(self.items))
        self.items += output_items(raw)
        return raw

    async def ask_another(self, model: Model, model_input: ModelInput) -> str:
        """Query a different model for a message; usage of the evaluated model is unchanged."""
        completion = await self._complete(model, model_input, None)
        return answer_text(raw_output(completion, model_input.task)) or completion.text

    def position(self) -> tuple[int, int]:
        """Return the current end of the conversation, for `go_back`."""
        return len(self.items), len(self.raw_outputs)

    def go_back(self, position: tuple[int, int]) -> None:
        """Remove everything added after this position, except the usage."""
        items, outputs = position
        del self.items[items:], self.raw_outputs[outputs:], self._completions[outputs:]

    async def _complete(
        self, model: Model, model_input: ModelInput, sample: Sample | None
    ) -> Completion:
        request = Request(
            messages=model_input.messages,
            sample=self.case.sample if sample is None else sample,
            trial=self.case.trial,
            task=model_input.task,
            input=model_input.input,
            takes_all=True,  # a scorer may evaluate refusals
            given=model_input.given,
            message_fields=model_input.message_fields,
        )
        started = perf_counter()
        completion = await model.complete(request)
        self.latency_s += perf_counter() - started
        if completion.bodies is not None:
            sent, came = completion.bodies
            reply = {"body": came, "status_code": _SUCCESS}
            self.direct_ios.append({"direct_input": {"body": sent}, "direct_output": reply})
        return completion

    def to_json(self) -> dict[str, Any]:
        """Return the whole conversation."""
        return {"items": self.items, "raw_outputs": self.raw_outputs, "direct_ios": self.direct_ios}

    def trace(
        self, conversation: dict[str, Any] | None = None, *, prompt_text: str | None = None
    ) -> Trace:
        """Return the trace to store.

        `conversation` replaces this conversation, and `prompt_text` the text before the answer.
        """
        conversation = self.to_json() if conversation is None else conversation
        last = self._completions[-1] if self._completions else None
        answer = conversation_answer(conversation)
        if not answer and last and conversation["raw_outputs"]:
            answer = last.text  # a message with only function calls: show the calls
        likelihood = self._choice or compute_likelihood(last.logprobs if last else None)
        return Trace(
            input=input_text(conversation) if prompt_text is None else prompt_text,
            output=answer,
            post_processed=answer,
            usage=self._usage,
            latency_s=self.latency_s,
            finish=last.finish if last else "stop",
            nll=likelihood.nll,
            nll_tokens=likelihood.nll_tokens,
            confidence=likelihood.confidence,
            options=likelihood.options,
            conversation=conversation,
        )


def raw_output(completion: Completion, task: MLTask) -> Any:
    """Return the model's output in the documented format."""
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
        raise ValueError("expected embeddings, but the model answered with text")
    message = {"role": "assistant", "content": completion.text}
    return {"choices": [{"message": message}], "usage": counted}


def input_text(conversation: dict[str, Any]) -> str:
    """Return the conversation before the last answer, as readable text."""
    items = conversation["items"]
    answers = [place for place, item in enumerate(items) if _is_answer(item)]
    if not answers:
        return readable(items)
    start = answers[-1]
    while start and items[start]["type"] == "function_call" and _is_answer(items[start - 1]):
        start -= 1  # consecutive calls and the text before them are one answer
    return readable(items[:start])


def conversation_answer(conversation: dict[str, Any]) -> str:
    """Return the answer's text; for embeddings and custom tasks, its JSON."""
    raw_outputs = conversation["raw_outputs"]
    # The fast path for most conversations.
    if raw_outputs and (text := answer_text(raw_outputs[-1])):
        return text
    output = SolverTrace.from_json(conversation).read_output()
    return "" if output is None else to_text(output)


def _is_answer(item: dict[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") in _ANSWERS
