"""The items of a trace: messages, function calls and their results.

    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "…"}]}
    {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{…}"}
    {"type": "function_call_output", "call_id": "c1", "output": "…"}
    {"type": "custom_task_input_message", "content": anything}
    {"type": "custom_task_output_message", "content": anything}

A content may be given as text; it is read as a list of one part. A list of parts prints as its
text. Chat messages (`tool_calls`, the role `tool`) are accepted too, and become items.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self, TypeGuard, cast

from .enums import (
    FunctionCallOutputStatusEnum,
    FunctionCallStatus,
    ImageDetail,
    MessageRole,
    MessageStatus,
)
from .model import JsonModel
from .record import Record, changes, wrap

SYNTHETIC_MESSAGE_ID = ""
SYNTHETIC_MESSAGE_STATUS = MessageStatus.completed
"""What messages have that no model sent."""

_MAX_QUOTED = 80


class Content(list[Any]):
    """The parts of a message. `str()` is their text."""

    def __str__(self) -> str:
        return text_of(self)

    def __contains__(self, wanted: object) -> bool:
        if isinstance(wanted, str):
            return wanted in text_of(self)
        return super().__contains__(wanted)


class InputTextContent(JsonModel):
    """Text of an input."""

    type: Literal["input_text"] = "input_text"
    text: str


class InputImageContent(JsonModel):
    """An image of an input."""

    type: Literal["input_image"] = "input_image"
    image_url: str | None = None
    detail: ImageDetail


class InputFileContent(JsonModel):
    """A file of an input."""

    type: Literal["input_file"] = "input_file"
    filename: str | None = None
    file_url: str | None = None


class UrlCitationBody(JsonModel):
    """A page that a part of a text cites."""

    type: Literal["url_citation"] = "url_citation"
    url: str
    start_index: int
    end_index: int
    title: str


class TextCitationBody(JsonModel):
    """A text that a part cites."""

    type: Literal["text_citation"] = "text_citation"
    content: str


class TopLogProb(JsonModel):
    """An alternative token, with its log-probability."""

    token: str
    logprob: float
    bytes: list[int]


class LogProb(JsonModel):
    """A token with its log-probability, and the likeliest tokens at its position."""

    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopLogProb]


class OutputTextContent(JsonModel):
    """Text that a model wrote."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[UrlCitationBody | TextCitationBody] = []
    logprobs: list[LogProb] | None = None


class RefusalContent(JsonModel):
    """Text of a refusal."""

    type: Literal["refusal"] = "refusal"
    refusal: str


class SummaryTextContent(JsonModel):
    """A summary of a model's reasoning."""

    type: Literal["summary_text"] = "summary_text"
    text: str


class ReasoningTextContent(JsonModel):
    """The reasoning of a model."""

    type: Literal["reasoning_text"] = "reasoning_text"
    text: str


InputPart = InputTextContent | InputImageContent | InputFileContent
ContentPart = (
    InputPart
    | OutputTextContent
    | RefusalContent
    | SummaryTextContent
    | ReasoningTextContent
    | dict[str, Any]
)
"""A part of a message; parts of other types are kept."""


_PARTS: dict[Any, type[JsonModel]] = {
    "input_text": InputTextContent,
    "input_image": InputImageContent,
    "input_file": InputFileContent,
    "output_text": OutputTextContent,
    "refusal": RefusalContent,
    "summary_text": SummaryTextContent,
    "reasoning_text": ReasoningTextContent,
}
_get, _new = dict.__getitem__, dict.__new__


def _wrap_part(part: Any) -> Any:
    if type(part) is not dict:
        return wrap(part)
    kind = part.get("type")
    part_class = _PARTS.get(kind) if isinstance(kind, str) else None
    if part_class is None:
        return Record(part)
    record = _new(part_class)
    record.update(part)
    return record


class Item(JsonModel):
    """One item of a trace, of a kind without its own class."""

    id: str | None = None
    status: str | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Of JSON; the class is that of its `type` and `role`, where this one is wider."""
        kind: Any = _find_class(data) if cls in _WIDE else cls
        return cast("Self", super(Item, kind).from_json(data))

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Of an item, or of data; ValueError lists what is wrong with it."""
        is_data = cls in _WIDE and isinstance(obj, Mapping) and not isinstance(obj, cls)
        kind: Any = _find_class(obj) if is_data else cls
        kind = kind if issubclass(kind, cls) else cls
        return cast("Self", super(Item, kind).model_validate(obj))


class Message(Item):
    """A message by `role`: `user`, `assistant`, `system` or `developer`."""

    type: Literal["message"] = "message"
    status: MessageStatus | None = None
    role: MessageRole
    content: str | list[ContentPart]

    @property
    def text(self) -> str:
        """The text of its parts, one per line; for a refusal, its text."""
        return text_of(dict.get(self, "content"))

    def __getitem__(self, name: str) -> Any:
        value = _get(self, name)
        kind = type(value)
        if kind is dict or kind is list or (name == "content" and kind is not Content):
            value = self._wrap(name, value)
            self[name] = value
        return value

    def _wrap(self, name: str, value: Any) -> Any:
        if name != "content":
            return super()._wrap(name, value)
        role = _get(self, "role") if "role" in self else None
        return Content([_wrap_part(_part(part, role)) for part in _as_list(value)])

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; its content is always a list of parts."""
        self.get("content")
        return super().to_json()


class UserMessage(Message):
    """A message of the user."""

    role: Literal["user"] = "user"  # type: ignore[assignment] # one of the roles


class AssistantMessage(Message):
    """A message of the model."""

    role: Literal["assistant"] = "assistant"  # type: ignore[assignment] # the same


class SystemMessage(Message):
    """A message that instructs the model."""

    role: Literal["system"] = "system"  # type: ignore[assignment] # the same


class FunctionCall(Item):
    """A function call by the model; `arguments` is JSON in a string."""

    type: Literal["function_call"] = "function_call"
    call_id: str
    name: str
    arguments: str
    status: FunctionCallStatus | None = None


class FunctionCallOutput(Item):
    """The result of a function call."""

    type: Literal["function_call_output"] = "function_call_output"
    call_id: str
    output: str | list[InputPart]
    status: FunctionCallOutputStatusEnum | None = None


class CustomTaskInputMessage(Item):
    """The input of a custom task; `content` is any JSON."""

    type: Literal["custom_task_input_message"] = "custom_task_input_message"
    content: Any


class CustomTaskOutputMessage(Item):
    """The output of a custom task; `content` is any JSON."""

    type: Literal["custom_task_output_message"] = "custom_task_output_message"
    content: Any


ConversationItem = Message | CustomTaskInputMessage | CustomTaskOutputMessage
TraceItem = (
    Message | FunctionCall | FunctionCallOutput | CustomTaskInputMessage | CustomTaskOutputMessage
)

_WIDE = {Item, Message}
_BY_ROLE: dict[Any, type[Item]] = {
    "user": UserMessage,
    "assistant": AssistantMessage,
    "system": SystemMessage,
}
_BY_TYPE: dict[Any, type[Item]] = {
    "function_call": FunctionCall,
    "function_call_output": FunctionCallOutput,
    "custom_task_input_message": CustomTaskInputMessage,
    "custom_task_output_message": CustomTaskOutputMessage,
}


def _find_class(fields: Mapping[str, Any]) -> type[Item]:
    kind, role = fields.get("type"), fields.get("role")
    if kind == "message" or (kind is None and "role" in fields):
        return _BY_ROLE.get(role, Message) if isinstance(role, str) else Message
    return _BY_TYPE.get(kind, Item) if isinstance(kind, str) else Item


class Items(list[Any]):
    """The items of a trace, in order."""

    @changes
    def append(self, element: Any) -> None:
        """Add an item at the end; a chat message becomes one or several."""
        super().extend(items_from([element]))

    @changes
    def extend(self, some: Iterable[Any]) -> None:
        """Add items at the end, one by one."""
        super().extend(items_from(some))


def item(fields: Mapping[str, Any]) -> Item:
    """Return an item of the class for its `type`."""
    if isinstance(fields, Item):
        return fields
    kind = _find_class(fields)
    record = _new(kind)
    record.update(fields)
    if "type" not in record and "role" in record:
        record["type"] = "message"
    return record


def items_from(some: Iterable[Any]) -> list[Item]:
    """Convert items or chat messages to items of a trace; ValueError for anything else."""
    items: list[Item] = []
    for element in some:
        if isinstance(element, Item):
            items.append(element)
        elif _is_chat(_check_item(element)):
            items.extend(item(fields) for fields in chat_items(element))
        else:
            items.append(item(element))
    return items


def is_trace_item(item: Any) -> TypeGuard[TraceItem]:
    """Whether it is an object of a class of items; a dict with the same keys is not."""
    return isinstance(item, TraceItem)


def make_message(role: str, text: str) -> dict[str, Any]:
    """Return a message as JSON."""
    return _message(role, [_part(text, role)])


def chat_items(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the items, as JSON, of one chat message."""
    role, content = message.get("role", "assistant"), message.get("content")
    if role == "tool":
        call_id = message.get("tool_call_id")
        return [{"type": "function_call_output", "call_id": call_id, "output": content}]
    parts = [_part(part, role) for part in _as_list(content)]
    if refusal := message.get("refusal"):
        parts.append({"type": "refusal", "refusal": refusal})
    calls = [call for call in _as_list(message.get("tool_calls")) if isinstance(call, Mapping)]
    extra = extra_fields(message)
    items: list[dict[str, Any]] = []
    if extra or not calls or text_of(parts):
        items.append({**extra, **_message(role, parts)})
    return items + [_call(call) for call in calls]


_USUAL_FIELDS = frozenset({"type", "id", "status", "role", "content"})
_CHAT_FIELDS = frozenset({"refusal", "references", "tool_calls", "tool_call_id"})


def extra_fields(message: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that an endpoint adds to a message, such as `session_id`; empty ones are none."""
    if len(message) <= 2 or message.keys() <= _USUAL_FIELDS:  # noqa: PLR2004 - role and content
        return {}
    fields = message if isinstance(message, dict) else dict(message)
    return {
        name: value
        for name, value in dict.items(fields)  # as they came: not wrapped
        if name not in _USUAL_FIELDS and name not in _CHAT_FIELDS and value not in _EMPTY
    }


_EMPTY: tuple[Any, ...] = (None, "", [], {})


def text_of(content: Any) -> str:
    """Return the text of a content: its text parts, or else its refusals, one per line."""
    if isinstance(content, str):
        return content
    texts, refusals = [], []
    for part in _as_list(content):
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, dict):
            continue
        elif isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part.get("refusal"), str):
            refusals.append(part["refusal"])
    return "\n".join(refusals if refusals and not any(texts) else texts)


def refusal_of(content: Any) -> str | None:
    """Return the refusals of a content, one per line; None if it has none."""
    parts = [part for part in _as_list(content) if isinstance(part, dict)]
    refusals = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
    return "\n".join(refusals) or None


def _check_item(fields: Any) -> Mapping[str, Any]:
    """Return a mapping with a type or role and a valid content; otherwise ValueError."""
    if not isinstance(fields, Mapping):
        raise ValueError(f"expected an item or a message, got `{shorten(repr(fields))}`")  # noqa: TRY004 - data of the wrong shape
    kind, content = fields.get("type", fields.get("role")), fields.get("content")
    if not isinstance(kind, str):
        raise ValueError(f"expected a `type` or a `role`, got `{shorten(repr(fields))}`")  # noqa: TRY004 - the same
    if "role" in fields and not isinstance(content, str | list | None):
        raise ValueError(f"expected text or parts as `content`, got `{shorten(repr(content))}`")
    if _is_chat(fields) and not isinstance(calls := fields.get("tool_calls"), list | None):
        raise ValueError(f"expected a list of `tool_calls`, got `{shorten(repr(calls))}`")
    return fields


def _is_chat(fields: Mapping[str, Any]) -> bool:
    if fields.get("refusal") and fields.get("type", "message") == "message":
        return True
    return "type" not in fields and ("tool_calls" in fields or fields.get("role") == "tool")


def _message(role: str, parts: list[Any]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": parts}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"] if isinstance(call.get("function"), Mapping) else call
    arguments = function.get("arguments", "{}")
    return {
        "type": "function_call",
        "call_id": call.get("id"),
        "name": function.get("name"),
        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
    }


def _as_list(content: Any) -> list[Any]:
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _part(part: Any, role: Any) -> Any:
    if isinstance(part, str):
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part}
    return part


def shorten(text: str) -> str:
    """Shorten a text for an error message."""
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
