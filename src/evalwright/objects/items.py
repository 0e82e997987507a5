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
from typing import Any, ClassVar

from .record import Record, changes, wrap

_MAX_QUOTED = 80


class Content(list[Any]):
    """The parts of a message. `str()` is their text."""

    def __str__(self) -> str:
        return text_of(self)

    def __contains__(self, wanted: object) -> bool:
        if isinstance(wanted, str):
            return wanted in text_of(self)
        return super().__contains__(wanted)


class Item(Record):
    """One item of a trace, of a kind without its own class."""

    kind: ClassVar[str] = ""
    optional: ClassVar[frozenset[str]] = frozenset({"id", "status"})

    def __init__(self, *fields: Mapping[str, Any], **more: Any) -> None:
        super().__init__(*fields, **more)
        if self.kind and "type" not in self:
            self["type"] = self.kind


class Message(Item):
    """A message by `role`: `user`, `assistant`, `system` or `developer`."""

    kind = "message"

    @property
    def text(self) -> str:
        """The text of its parts, one per line; for a refusal, its text."""
        return text_of(dict.get(self, "content"))

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name == "content" and not isinstance(value, Content):
            value = Content(wrap(_part(part, self.get("role"))) for part in _as_list(value))
            self["content"] = value
        return value

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; its content is always a list of parts."""
        self.get("content")
        return super().to_json()


class FunctionCall(Item):
    """A function call by the model; `arguments` is JSON in a string."""

    kind = "function_call"


class FunctionCallOutput(Item):
    """The result of a function call."""

    kind = "function_call_output"


class CustomTaskInputMessage(Item):
    """The input of a custom task; `content` is any JSON."""

    kind = "custom_task_input_message"


class CustomTaskOutputMessage(Item):
    """The output of a custom task; `content` is any JSON."""

    kind = "custom_task_output_message"


_KINDS: dict[Any, type[Item]] = {
    item_class.kind: item_class
    for item_class in (
        Message,
        FunctionCall,
        FunctionCallOutput,
        CustomTaskInputMessage,
        CustomTaskOutputMessage,
    )
}


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
    kind = fields.get("type")
    item_class = _KINDS.get(kind) or (Message if kind is None and "role" in fields else Item)
    return item_class(fields)


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
    items: list[dict[str, Any]] = [] if calls and not text_of(parts) else [_message(role, parts)]
    return items + [_call(call) for call in calls]


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
