"""What a trace consists of: messages, calls of functions and what those gave back.

    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "…"}]}
    {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{…}"}
    {"type": "function_call_output", "call_id": "c1", "output": "…"}
    {"type": "custom_task_input_message", "content": anything}
    {"type": "custom_task_output_message", "content": anything}

A content may be given as text; it is read as a list of one part. A list of parts prints as its
text. Messages of a chat (`tool_calls`, the role `tool`) are taken too, and become items.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from .record import Record, changes, seen

_MAX_SHOWN = 80


class Content(list[Any]):
    """The parts of a message. `str()` is their text."""

    __slots__ = ()

    def __str__(self) -> str:
        return text_of(self)

    def __contains__(self, wanted: object) -> bool:
        if isinstance(wanted, str):
            return wanted in text_of(self)
        return super().__contains__(wanted)


class Item(Record):
    """One item of a trace, of a kind that has no class of its own."""

    __slots__ = ()

    kind: ClassVar[str] = ""
    optional: ClassVar[frozenset[str]] = frozenset({"id", "status"})

    def __init__(self, *fields: Mapping[str, Any], **more: Any) -> None:
        super().__init__(*fields, **more)
        if self.kind and "type" not in self:
            self["type"] = self.kind


class Message(Item):
    """Something said by `role`: `user`, `assistant`, `system` or `developer`."""

    __slots__ = ()

    kind = "message"

    @property
    def text(self) -> str:
        """The text of its parts, one a line; of a refusal, the refusal."""
        return text_of(dict.get(self, "content"))

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name == "content" and not isinstance(value, Content):
            value = Content(seen(_part(one, self.get("role"))) for one in _listed(value))
            self["content"] = value
        return value

    def to_json(self) -> dict[str, Any]:
        """A plain dict; its content is a list of parts, however it was given."""
        self.get("content")
        return super().to_json()


class FunctionCall(Item):
    """A function that the model wants called; `arguments` is JSON in a string."""

    __slots__ = ()

    kind = "function_call"


class FunctionCallOutput(Item):
    """What a function gave back."""

    __slots__ = ()

    kind = "function_call_output"


class CustomTaskInputMessage(Item):
    """What a model of a custom task was asked; `content` is any JSON."""

    __slots__ = ()

    kind = "custom_task_input_message"


class CustomTaskOutputMessage(Item):
    """What a model of a custom task answered; `content` is any JSON."""

    __slots__ = ()

    kind = "custom_task_output_message"


_KINDS: dict[Any, type[Item]] = {
    one.kind: one
    for one in (
        Message,
        FunctionCall,
        FunctionCallOutput,
        CustomTaskInputMessage,
        CustomTaskOutputMessage,
    )
}


class Items(list[Any]):
    """The items of a trace, in their order."""

    __slots__ = ()

    @changes
    def append(self, one: Any) -> None:
        """Add an item at the end: a message of a chat becomes one or several."""
        super().extend(items_from([one]))

    @changes
    def extend(self, some: Iterable[Any]) -> None:
        """Add items at the end, one by one."""
        super().extend(items_from(some))


def item(fields: Mapping[str, Any]) -> Item:
    """An item of the class that its `type` asks for."""
    if isinstance(fields, Item):
        return fields
    kind = fields.get("type")
    made = _KINDS.get(kind) or (Message if kind is None and "role" in fields else Item)
    return made(fields)


def items_from(some: Iterable[Any]) -> list[Item]:
    """Items of a trace, of items or messages of a chat; ValueError for what is neither."""
    made: list[Item] = []
    for one in some:
        if isinstance(one, Item):
            made.append(one)
        elif _is_chat(_checked(one)):
            made.extend(item(each) for each in chat_items(one))
        else:
            made.append(item(one))
    return made


def make_message(role: str, text: str) -> dict[str, Any]:
    """A message as JSON."""
    return {"type": "message", "role": role, "content": [_part(text, role)]}


def chat_items(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The items, as JSON, that one message of a chat stands for."""
    role, content = message.get("role", "assistant"), message.get("content")
    if role == "tool":
        call_id = message.get("tool_call_id")
        return [{"type": "function_call_output", "call_id": call_id, "output": content}]
    parts = [_part(one, role) for one in _listed(content)]
    if refusal := message.get("refusal"):
        parts.append({"type": "refusal", "refusal": refusal})
    calls = [one for one in _listed(message.get("tool_calls")) if isinstance(one, Mapping)]
    items: list[dict[str, Any]] = [] if calls and not text_of(parts) else [_message(role, parts)]
    return items + [_call(call) for call in calls]


def text_of(content: Any) -> str:
    """The text of a content: its text parts, or else its refusals, one a line."""
    if isinstance(content, str):
        return content
    texts, refusals = [], []
    for part in _listed(content):
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
    """The refusals of a content, one a line; None where it has none."""
    parts = [part for part in _listed(content) if isinstance(part, dict)]
    found = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
    return "\n".join(found) or None


def _checked(one: Any) -> Mapping[str, Any]:
    """A mapping that says what it is, and whose content is one; else ValueError."""
    if not isinstance(one, Mapping):
        raise ValueError(f"expected an item or a message, got `{_shown(one)}`")  # noqa: TRY004 - data of the wrong shape
    kind, content = one.get("type", one.get("role")), one.get("content")
    if not isinstance(kind, str):
        raise ValueError(f"expected a `type` or a `role`, got `{_shown(one)}`")  # noqa: TRY004 - the same
    if "role" in one and not isinstance(content, str | list | None):
        raise ValueError(f"expected text or parts as `content`, got `{_shown(content)}`")
    if _is_chat(one) and not isinstance(calls := one.get("tool_calls"), list | None):
        raise ValueError(f"expected a list of `tool_calls`, got `{_shown(calls)}`")
    return one


def _is_chat(one: Mapping[str, Any]) -> bool:
    """Whether it has what only the messages of a chat have."""
    if one.get("refusal") and one.get("type", "message") == "message":
        return True
    return "type" not in one and ("tool_calls" in one or one.get("role") == "tool")


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


def _listed(content: Any) -> list[Any]:
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _part(part: Any, role: Any) -> Any:
    if isinstance(part, str):
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part}
    return part


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
