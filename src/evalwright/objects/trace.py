"""A trace: the items of a conversation, and queries on it.

Everything before the first user message is the preamble. The properties `function_calls`,
`function_outputs`, `assistant_messages` and `user_messages` leave it out, so the greeting of an
assistant is not one of its messages; the methods that return the last or first text include it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal, Self, TypeVar

from .events import TraceEvent, read_events, select_span, span_of
from .fields import check
from .items import (
    FunctionCall,
    FunctionCallOutput,
    Item,
    Items,
    Message,
    UserMessage,
    items_from,
    text_of,
)
from .model import JsonModel, LFBaseModel
from .output import readable
from .record import plain, wrap

TraceFormat = Literal["latticeflow", "open_responses"]
T = TypeVar("T")
_new = object.__new__


class TraceMetadata(JsonModel):
    """The origin of a trace, and its totals; None for what is not known."""

    trace_id: str | None = None
    source_type: str | None = None
    source_uri: str | None = None
    agent: str | None = None
    model: str | None = None
    tags: list[str] | None = None
    created_at: datetime | None = None
    total_time: float | None = None
    total_tokens: int | None = None
    message_count: int | None = None
    error: str | None = None
    extra: dict[str, Any] | None = None


class Turn(LFBaseModel):
    """A user message, and everything up to the next one."""

    user_message: UserMessage | Message
    assistant_items: list[Item]

    @property
    def assistant_messages(self) -> list[Message]:
        """The messages of the assistant."""
        return _messages_by(self.assistant_items, "assistant")

    @property
    def function_calls(self) -> list[FunctionCall]:
        """The function calls."""
        return _select(self.assistant_items, FunctionCall)

    @property
    def function_outputs(self) -> list[FunctionCallOutput]:
        """The results of the function calls."""
        return _select(self.assistant_items, FunctionCallOutput)

    @property
    def function_call_pairs(self) -> list[tuple[FunctionCall, FunctionCallOutput | None]]:
        """Each call with its result, if there is one."""
        return _pair_calls(self.function_calls, self.function_outputs)


class Trace(LFBaseModel):
    """All messages, in order."""

    FORMAT: ClassVar[TraceFormat] = "open_responses"

    items: list[Item] = []
    metadata: TraceMetadata = {}  # type: ignore[assignment] # it is wrapped when it is read
    """Where it is from, and its totals; never None."""
    events: list[TraceEvent | dict[str, Any]] | None = None
    span_id: str | None = None
    span_name: str | None = None
    span_type: str | None = None

    def __init__(self, items: Iterable[Any] = (), **fields: Any) -> None:
        """Create it from items or messages, and optionally `metadata`, `events` and a span."""
        check(fields.pop("FORMAT", self.FORMAT), TraceFormat, "FORMAT")
        super().__init__(items=items_from(items), **fields)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Create it from JSON, which is not checked, and is wrapped when it is read."""
        trace = _new(cls)
        trace.__dict__["_unread"] = {**data}
        return trace

    @classmethod
    def from_items(cls, items: Iterable[Any]) -> Trace:
        """Create it from items or messages."""
        return cls.from_json({"items": list(items)})

    @classmethod
    def from_events(cls, events: Iterable[Mapping[str, Any]], span_id: str | None = None) -> Trace:
        """Create it from recorded events: all of them, or one span."""
        events = select_span(events, span_id)
        fields: dict[str, Any] = {"items": read_events(events), "events": events}
        if span_id is not None:
            begin = next(e for e in events if e["type"] == "span_begin" and span_of(e) == span_id)
            name = begin.get("name", begin.get("span_name"))
            fields |= {"span_id": span_id, "span_name": name, "span_type": begin.get("span_type")}
        return cls.from_json(fields)

    def _wrap(self, name: str, value: Any) -> Any:
        if name == "items":
            return Items(items_from(value))
        if name == "metadata" and value is None:
            return TraceMetadata.from_json({})
        return super()._wrap(name, value)

    @property
    def raw_items(self) -> list[Any]:
        """Its original items, not wrapped."""
        return self._peek("items") or []

    @property
    def preamble(self) -> list[Item]:
        """The items before the first user message."""
        return list(self.items[: self._first()])

    @property
    def conversation_items(self) -> list[Item]:
        """The first user message and what follows."""
        return list(self.items[self._first() :])

    @property
    def assistant_messages(self) -> list[Message]:
        """The assistant's messages, without the preamble."""
        return _messages_by(self.conversation_items, "assistant")

    @property
    def function_calls(self) -> list[FunctionCall]:
        """The function calls, without the preamble."""
        return _select(self.conversation_items, FunctionCall)

    @property
    def function_outputs(self) -> list[FunctionCallOutput]:
        """The function results, without the preamble."""
        return _select(self.conversation_items, FunctionCallOutput)

    @property
    def system_messages(self) -> list[Message]:
        """The function calls in the preamble."""
        return _messages_by(self.preamble, "system")

    @property
    def user_messages(self) -> list[Message]:
        """The user's messages."""
        return _messages_by(self.items, "user")

    @property
    def turns(self) -> list[Turn]:
        """The conversation, one turn per user message."""
        turns: list[Turn] = []
        for item in self.conversation_items:
            if isinstance(item, Message) and item.get("role") == "user":
                turns.append(Turn.from_json({"user_message": item, "assistant_items": []}))
            else:
                turns[-1].assistant_items.append(item)
        return turns

    def spans(self) -> list[Trace]:
        """The spans of its events, in the order of their starts."""
        events = self.events or []
        begins = [event for event in events if event.get("type") == "span_begin"]
        return [Trace.from_events(events, span_of(event)) for event in begins]

    def get_function_calls_by_name(self, name: str) -> list[FunctionCall]:
        """The calls of one function."""
        return [call for call in self.function_calls if call.get("name") == name]

    def get_function_output_for_call(self, call_id: str) -> FunctionCallOutput | None:
        """Return the result of a call."""
        outputs = (each for each in self.function_outputs if each.get("call_id") == call_id)
        return next(outputs, None)

    def get_function_call_pairs(self) -> list[tuple[FunctionCall, FunctionCallOutput | None]]:
        """Each call with its result, if there is one."""
        return _pair_calls(self.function_calls, self.function_outputs)

    def get_last_assistant_text(self) -> str | None:
        """Return the text of the last assistant message."""
        return _text(_messages_by(self.items, "assistant"), -1)

    def get_last_user_text(self) -> str | None:
        """Return the text of the last user message."""
        return _text(self.user_messages, -1)

    def get_first_system_prompt(self) -> str | None:
        """The first system message of the preamble."""
        return _text(self.system_messages, 0)

    @staticmethod
    def get_function_call_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call; ValueError if they are not a JSON object."""
        arguments = call.get("arguments")
        if isinstance(arguments, str):
            arguments = json.loads(arguments) if arguments.strip() else {}
        if not isinstance(arguments, dict):
            raise ValueError(f"expected a JSON object as `arguments`, got `{arguments!r}`")  # noqa: TRY004 - a JSON of the wrong kind
        return dict(wrap(arguments))

    @staticmethod
    def get_function_output_text(output: Mapping[str, Any]) -> str:
        """Return the result of a function as text."""
        value = output.get("output")
        return text_of(value) if isinstance(value, str | list) else json.dumps(value)

    def to_json(self) -> dict[str, Any]:
        """Return its items and other fields."""
        held = {**self.__dict__, **self.__dict__.get("_unread", {})}
        items = items_from(held.get("items") or ())
        fields: dict[str, Any] = {"items": [item.to_json() for item in items]}
        if held.get("metadata"):
            fields["metadata"] = plain(held["metadata"])
        for name in ("events", "span_id", "span_name", "span_type"):
            if held.get(name) is not None:
                fields[name] = plain(held[name])
        return fields

    def __str__(self) -> str:
        return readable(self.raw_items)

    def __repr__(self) -> str:
        return f"<Trace of {len(self.raw_items)} items>"

    def _first(self) -> int:
        for place, item in enumerate(self.items):
            if isinstance(item, Message) and item.get("role") == "user":
                return place
        return len(self.items)


def _select(items: Iterable[Item], kind: type[T]) -> list[T]:
    return [item for item in items if isinstance(item, kind)]


def _messages_by(items: Iterable[Item], role: str) -> list[Message]:
    return [message for message in _select(items, Message) if message.get("role") == role]


def _pair_calls(
    calls: list[FunctionCall], outputs: list[FunctionCallOutput]
) -> list[tuple[FunctionCall, FunctionCallOutput | None]]:
    by_id = {output.get("call_id"): output for output in reversed(outputs)}
    return [(call, by_id.get(call.get("call_id"))) for call in calls]


def _text(messages: list[Message], place: int) -> str | None:
    return messages[place].text if messages else None
