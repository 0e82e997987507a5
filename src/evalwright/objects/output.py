"""The output of a model, as authors see it.

    chat completion   {"choices": [{"message": {"role", "content", "refusal"}}], "usage": {…}}
    with retrieval    the same, and `references: [{"content"}]` in a choice
    open responses    {"items": […], "usage": {…}}
    embeddings        {"embeddings": [[…]], "usage": {…}}
    custom            any JSON

`str()` of an output is the answer's text; of embeddings and of a custom task, its JSON. So an id or
a token count never gets into a judge's prompt, where it would differ in every run.

`solver_output.output` of a chat is an `AnswerText`: the answer's text, which has the completion's
fields too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from .items import Item, Items, chat_items, extra_fields, items_from, refusal_of, text_of
from .model import JsonModel
from .record import Record, Records, wrap


class ModelUsage(JsonModel):
    """The tokens of a call; None where the model does not count them."""

    num_completion_tokens: int | None = None
    num_prompt_tokens: int | None = None


class ChatCompletionOutputMessage(JsonModel):
    """A message of a completion, or of the older list of messages."""

    role: Literal["user", "system", "assistant"]
    content: str | None
    refusal: str | None = None

    def __missing__(self, name: str) -> Any:
        return None if name == "content" else super().__missing__(name)

    def __str__(self) -> str:
        return text_of(dict.get(self, "content")) or str(dict.get(self, "refusal") or "")


class ChatCompletionModelOutputChoice(JsonModel):
    """One of the answers of a completion."""

    message: ChatCompletionOutputMessage


class _ModelOutput(JsonModel):
    """An output with an answer: `str()` is its text."""

    usage: ModelUsage | None = None

    def __str__(self) -> str:
        return answer_text(self) or ""


class ChatCompletionModelOutput(_ModelOutput):
    """A chat completion."""

    choices: list[ChatCompletionModelOutputChoice]


class RAGReference(JsonModel):
    """A retrieved text."""

    content: str


class RAGCompletionModelOutputChoice(ChatCompletionModelOutputChoice):
    """One of the answers of a completion, with its retrieved texts."""

    references: list[RAGReference]


class RAGCompletionOutput(ChatCompletionModelOutput):
    """A chat completion with retrieval."""

    choices: list[RAGCompletionModelOutputChoice]  # type: ignore[assignment] # a narrower kind


class OpenResponsesModelOutput(_ModelOutput):
    """An answer in items. `items` is the list; `items()` is the method of a dict."""

    items: list[Item]  # type: ignore[assignment] # it can still be called

    def _wrap(self, name: str, value: Any) -> Any:
        if name != "items":
            return super()._wrap(name, value)
        items = _ResponseItems(items_from(value))
        items.owner = self
        return items


class _ResponseItems(Items):
    """The standard library's encoder calls `items()` of every dict."""

    owner: dict[str, Any]

    def __call__(self) -> Any:
        return dict.items(self.owner)


class CustomOutput(Record):
    """A JSON object that a custom task returned."""

    def __str__(self) -> str:
        return json_text(self)


class EmbeddingsModelOutput(JsonModel):
    """The vectors of the texts, in their order."""

    embeddings: list[list[float]]
    usage: ModelUsage | None = None

    def __str__(self) -> str:
        return json_text(self)


ChatMessage = ChatCompletionOutputMessage
ChatCompletion = ChatCompletionModelOutput
OpenResponse = OpenResponsesModelOutput
"""Shorter names, which snippets may import too."""

LFModelOutput = (
    OpenResponsesModelOutput
    | RAGCompletionOutput
    | ChatCompletionModelOutput
    | EmbeddingsModelOutput
    | Any
)


class CustomOutputs(Records):
    """A JSON array from a custom task."""

    def __str__(self) -> str:
        return json_text(self)


class AnswerText(str):
    """The text of a chat's answer, with the fields of its completion.

    It is text wherever text is expected: `in`, `==`, `len`, slices, methods, regular expressions.
    By name, it is the completion: `output.choices`, `output["usage"]`, `output.get("id")`. `in` is
    true for the name of a field as well.
    """

    __slots__ = ("completion",)
    completion: ChatCompletion

    def __new__(cls, completion: ChatCompletion) -> Self:
        """Take the text of the completion's answer."""
        text = super().__new__(cls, answer_text(completion) or "")
        object.__setattr__(text, "completion", completion)
        return text

    def __getnewargs__(self) -> tuple[Any, ...]:  # copies are made of it
        return (self.completion,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.completion, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.completion[name] = value

    def __getitem__(self, key: Any) -> Any:
        return self.completion[key] if isinstance(key, str) else super().__getitem__(key)

    def __setitem__(self, name: str, value: Any) -> None:
        self.completion[name] = value

    def __contains__(self, part: object) -> bool:
        return super().__contains__(part) or part in self.completion  # type: ignore[operator]

    def __eq__(self, other: object) -> bool:
        return self.completion == other if isinstance(other, dict) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def get(self, name: str, default: Any = None) -> Any:
        """Return the field with that name, or `default` if there is none."""
        return self.completion.get(name, default)

    def keys(self) -> Any:
        """The names of the completion's fields."""
        return self.completion.keys()

    def values(self) -> Any:
        """The completion's fields."""
        return self.completion.values()

    def items(self) -> Any:
        """The completion's fields, with their names."""
        return self.completion.items()

    def to_json(self) -> dict[str, Any]:
        """The completion as a plain dict."""
        return self.completion.to_json()

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The completion as a dict."""
        return self.completion.model_dump(**options)


def wrap_output(raw: Any) -> Any:
    """Return a raw output in the class for its format; text, numbers etc. are unchanged."""
    if isinstance(raw, AnswerText):
        return raw.completion
    if type(raw) is dict:
        if _is_completion(raw):
            return _find_completion(raw["choices"]).from_json(raw)
        if _is_items(raw.get("items")):
            return OpenResponse.from_json(raw)
        if isinstance(raw.get("embeddings"), list):
            return EmbeddingsModelOutput.from_json(raw)
        return CustomOutput(raw)
    return CustomOutputs(wrap(raw)) if type(raw) is list else raw


def _find_completion(choices: list[Any]) -> type[ChatCompletion]:
    for choice in choices:  # runs for every answer: no generator
        if "references" in choice:
            return RAGCompletionOutput
    return ChatCompletion


def old_view(output: Any) -> Any:
    """Return an output in the older format: items become a chat completion."""
    output = wrap_output(output)
    if not isinstance(output, OpenResponse):
        return output
    spoken = [item for item in output["items"] if _is_assistant_message(item)]
    message = (
        old_message(spoken[-1])
        if spoken
        else ChatMessage.from_json({"role": "assistant", "content": None})
    )
    rest = {key: value for key, value in dict.items(output) if key != "items"}
    return _build_completion(message, rest)


def _build_completion(message: ChatMessage, fields: dict[str, Any]) -> ChatCompletion:
    choice: dict[str, Any] = {"message": message}
    if "references" in fields:
        choice["references"] = fields.pop("references")
    return _find_completion([choice]).from_json({"choices": [choice], **fields})


def old_message(item: dict[str, Any]) -> ChatMessage:
    """Return a message item as `{role, content[, refusal]}` and other fields; content is text."""
    content = dict.get(item, "content")  # as it came: wrapping it would cost more than reading it
    role = dict.get(item, "role")
    if type(content) is list and len(content) == 1 and type(content[0]) is dict:
        text = content[0].get("text")
        if isinstance(text, str):  # nearly always
            return ChatMessage.from_json({"role": role, "content": text, **extra_fields(item)})
    fields = {"role": role, **extra_fields(item)}
    refusal = None if isinstance(content, str) else refusal_of(content)
    if refusal is None:
        return ChatMessage.from_json({**fields, "content": text_of(content)})
    parts = content if isinstance(content, list) else ()
    texts = [part for part in parts if not isinstance(part, dict) or "refusal" not in part]
    return ChatMessage.from_json({**fields, "content": text_of(texts) or None, "refusal": refusal})


def completion_of(item: dict[str, Any]) -> ChatCompletion:
    """Return a completion with this message."""
    fields = {"references": item["references"]} if "references" in item else {}
    return _build_completion(old_message(item), fields)


def output_items(raw: Any) -> list[dict[str, Any]]:
    """Return the items that a raw output adds to a trace, as JSON. Embeddings add none."""
    if isinstance(raw, AnswerText):
        raw = raw.completion
    if not isinstance(raw, dict):
        return [{"type": "custom_task_output_message", "content": raw}]
    if _is_completion(raw):
        return [item for choice in raw["choices"][:1] for item in chat_items(choice["message"])]
    if _is_items(dict.get(raw, "items")):
        return [item.to_json() for item in items_from(raw["items"])]
    if "embeddings" in raw:
        return []
    return [{"type": "custom_task_output_message", "content": raw}]


def answer_text(raw: Any) -> str | None:
    """Return the text of the last assistant message of an output; None if it has none."""
    if _is_completion(raw) and raw["choices"]:
        message = raw["choices"][0]["message"]
        content = message.get("content")
        if isinstance(content, str) and (content or not message.get("refusal")):  # nearly always
            return content
    spoken = [item for item in output_items(raw) if _is_assistant_message(item)]
    return text_of(spoken[-1]["content"]) if spoken else None


def json_text(value: Any) -> str:
    """Return readable JSON, for people and judges."""
    return json.dumps(value, ensure_ascii=False)


def _is_assistant_message(item: dict[str, Any]) -> bool:
    return item.get("type") == "message" and item.get("role", "assistant") == "assistant"


def _is_completion(raw: Any) -> bool:
    choices = dict.get(raw, "choices") if isinstance(raw, dict) else None
    return isinstance(choices, list) and all(
        isinstance(choice, dict) and isinstance(choice.get("message"), dict) for choice in choices
    )


def _is_items(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and ("type" in item or "role" in item) for item in value)
    )


def readable(items: Iterable[Mapping[str, Any]]) -> str:
    """Return a single user message as text; several messages as paragraphs with roles."""
    spoken = [(item, _item_text(item)) for item in items]
    if len(spoken) == 1 and spoken[0][0].get("role", "user") == "user":
        return spoken[0][1]
    return "\n\n".join(f"{item.get('role') or item['type']}: {text}" for item, text in spoken)


def _item_text(item: Mapping[str, Any]) -> str:
    kind = item.get("type", "message")
    if kind == "message":
        return text_of(item.get("content"))
    if kind == "function_call":
        return f"{item.get('name')}({item.get('arguments')})"
    if kind == "function_call_output":
        output = item.get("output")
        return (text_of(output) if isinstance(output, list) else "") or to_text(output)
    return to_text(item.get("content"))


def to_text(value: Any) -> str:
    """Return text unchanged, an output as its answer, other values as JSON."""
    if isinstance(value, str | ChatCompletion | OpenResponse):
        return str(value)
    return json_text(value)
