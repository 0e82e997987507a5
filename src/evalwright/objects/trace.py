"""A trace: the items of a conversation, and queries on it.

Everything before the first user message is the preamble. The properties `function_calls`,
`function_outputs`, `assistant_messages` and `user_messages` leave it out, so the greeting of an
assistant is not one of its messages; the methods that return the last or first text include it.

A trace can be read from the events of a recorded agent:

    {"type": "message_event", "item": {…}}            or `message`
    {"type": "function_call_event", "function_call": {…}, "function_call_output": {…} | None}
    {"type": "model_call_event", "output": {…}}       any output of a model
    {"type": "span_begin", "span_id": "s1", "name": "plan", "span_type": "agent"}
    {"type": "span_end", "span_id": "s1"}

The names of the keys are our own choice: the format is not published. Other events (compaction,
error, custom) are kept in the trace and add no item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from .items import FunctionCall, FunctionCallOutput, Item, Items, Message, items_from, text_of
from .output import output_items, readable
from .record import Keyed, Record, plain, wrap

T = TypeVar("T")


def read_events(events: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Messages and calls, in order."""
    items: list[Any] = []
    for event in events:
        kind = event.get("type")
        if kind == "message_event":
            items.append(event.get("item") or event.get("message"))
        elif kind == "function_call_event":
            items.append(event.get("function_call") or event.get("item"))
            items.append(event.get("function_call_output") or event.get("output"))
        elif kind == "model_call_event" and event.get("output") is not None:
            items += output_items(event["output"])
    return items_from(item for item in items if item is not None)


def _events_of_span(events: Iterable[Mapping[str, Any]], span_id: str) -> list[Mapping[str, Any]]:
    """Return a span with the spans inside it; KeyError if it does not exist."""
    inside: list[Mapping[str, Any]] = []
    for event in events:
        begins = event.get("type") == "span_begin" and _span_id(event) == span_id
        if begins or inside:
            inside.append(event)
        if inside and event.get("type") == "span_end" and _span_id(event) == span_id:
            break
    if not inside:
        raise KeyError(span_id)
    return inside


def _span_id(event: Mapping[str, Any]) -> Any:
    return event.get("span_id", event.get("id"))


class TraceMetadata(Record):
    """The origin of a trace, and its totals; None for what is not known."""

    optional: ClassVar[frozenset[str]] = frozenset(
        {
            *("trace_id", "source_type", "source_uri", "agent", "model", "tags", "created_at"),
            *("total_time", "total_tokens", "message_count", "error", "extra"),
        }
    )


class Turn(Keyed):
    """A user message, and everything up to the next one."""

    __slots__ = ("assistant_items", "user_message")

    fields = ("user_message", "assistant_items")

    def __init__(self, user_message: Message, assistant_items: Iterable[Item] = ()) -> None:
        self.user_message = user_message
        self.assistant_items = list(assistant_items)

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


class Trace(Keyed):
    """All messages, in order."""

    __slots__ = ("_items", "_metadata", "_wrapped", "events", "span_id", "span_name", "span_type")

    FORMAT: ClassVar[str] = "open_responses"
    fields = ("items", "metadata", "events", "span_id", "span_name", "span_type")

    def __init__(self, items: Iterable[Any] = (), **more: Any) -> None:
        """Create it from items or messages, and optionally `metadata`, `events` and a span."""
        self._items: list[Any] = items if isinstance(items, list) else list(items)
        self._wrapped = False
        self._metadata: Any = more.pop("metadata", None)
        self.events: Any = more.pop("events", None)
        self.span_id: str | None = more.pop("span_id", None)
        self.span_name: str | None = more.pop("span_name", None)
        self.span_type: str | None = more.pop("span_type", None)
        if more:
            raise TypeError(f"expected {', '.join(self.fields)}, got `{next(iter(more))}`")

    @classmethod
    def from_items(cls, items: Iterable[Any]) -> Trace:
        """Create it from items or messages."""
        return cls(items)

    @classmethod
    def from_events(cls, events: Iterable[Mapping[str, Any]], span_id: str | None = None) -> Trace:
        """Create it from recorded events: all of them, or one span."""
        events = list(events) if span_id is None else _events_of_span(events, span_id)
        begin = {} if span_id is None else events[0]
        return cls(
            read_events(events),
            events=events,
            span_id=span_id,
            span_name=begin.get("name", begin.get("span_name")),
            span_type=begin.get("span_type"),
        )

    @property
    def items(self) -> Items:
        """Its items. This is the trace's own list: appending changes the trace."""
        if not self._wrapped:
            self._items = Items(items_from(self._items))
            self._wrapped = True
        return self._items  # type: ignore[return-value] # since the line above

    @items.setter
    def items(self, items: Iterable[Any]) -> None:
        self._items, self._wrapped = list(items), False

    @property
    def raw_items(self) -> list[Any]:
        """Its original items, not wrapped."""
        return self._items

    @property
    def metadata(self) -> TraceMetadata:
        """Its origin, and its totals."""
        if not isinstance(self._metadata, TraceMetadata):
            self._metadata = TraceMetadata(self._metadata or {})
        return self._metadata

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
                turns.append(Turn(item))
            else:
                turns[-1].assistant_items.append(item)
        return turns

    def spans(self) -> list[Trace]:
        """The spans of its events, in the order of their starts."""
        events = self.events or []
        begins = [event for event in events if event.get("type") == "span_begin"]
        return [Trace.from_events(events, _span_id(event)) for event in begins]

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
        fields: dict[str, Any] = {"items": [item.to_json() for item in items_from(self._items)]}
        if self._metadata:
            fields["metadata"] = plain(self._metadata)
        for name in ("events", "span_id", "span_name", "span_type"):
            if getattr(self, name) is not None:
                fields[name] = plain(getattr(self, name))
        return fields

    def __str__(self) -> str:
        return readable(self._items)

    def __repr__(self) -> str:
        return f"<Trace of {len(self._items)} items>"

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
