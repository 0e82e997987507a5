"""The events of a recorded agent, and the conversation that they tell.

    {"type": "message_event", "item": {…}}
    {"type": "function_call_event", "call_id": "c1", "function": "search", "arguments": "{}",
     "result": "…"}
    {"type": "model_call_event", "model": "m", "input_context": […], "output_items": […]}
    {"type": "span_begin", "span_id": "s1", "name": "plan", "span_type": "agent"}
    {"type": "span_end", "span_id": "s1"}

An event belongs to the span whose `span_id` it has. Where no event but the beginnings and ends of
spans has one, it belongs to the spans that are open at its place in the list.

These keys are read as well: `message` for the item of a message event; `function_call` and
`function_call_output`, two items, in a function call event; `output`, an output of a model, in a
model call event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from .enums import FunctionCallStatus
from .items import (
    CustomTaskInputMessage,
    CustomTaskOutputMessage,
    InputFileContent,
    InputImageContent,
    InputTextContent,
    Item,
    Message,
    items_from,
)
from .model import JsonModel
from .output import ModelUsage, output_items


class BaseTraceEvent(JsonModel):
    """Something that happened while an agent ran."""

    id: str | None = None
    span_id: str | None = None
    timestamp: datetime | None = None
    metadata: dict[str, Any] | None = None


class MessageEvent(BaseTraceEvent):
    """A message was added to the conversation."""

    type: Literal["message_event"] = "message_event"
    item: Message | CustomTaskInputMessage | CustomTaskOutputMessage
    model_call_id: str | None = None


class FunctionCallEvent(BaseTraceEvent):
    """A function was called."""

    type: Literal["function_call_event"] = "function_call_event"
    call_id: str
    function: str
    arguments: str
    result: str | list[InputTextContent | InputImageContent | InputFileContent]
    status: FunctionCallStatus
    working_time: float | None = None
    error: str | None = None
    agent: str | None = None
    agent_span_id: str | None = None
    model_call_id: str | None = None


class ModelCallEvent(BaseTraceEvent):
    """A model was called."""

    type: Literal["model_call_event"] = "model_call_event"
    model: str
    input_context: list[Item]
    output_items: list[Item]
    usage: ModelUsage | None = None
    tools: list[str] | None = None
    total_time: float | None = None
    error: str | None = None


class SpanBeginEvent(BaseTraceEvent):
    """A span began: a part of the run, such as a sub-agent."""

    span_id: str
    type: Literal["span_begin"] = "span_begin"
    parent_span_id: str | None = None
    name: str
    span_type: str | None = None


class SpanEndEvent(BaseTraceEvent):
    """A span ended."""

    span_id: str
    type: Literal["span_end"] = "span_end"


class CompactionEvent(BaseTraceEvent):
    """The conversation was shortened."""

    type: Literal["compaction"] = "compaction"
    strategy: Literal["summary", "trim"]
    tokens_before: int | None = None
    tokens_after: int | None = None


class ErrorEvent(BaseTraceEvent):
    """An error occurred."""

    type: Literal["error"] = "error"
    message: str
    traceback: str | None = None


class CustomEvent(BaseTraceEvent):
    """Anything else that a recorder noted."""

    type: Literal["custom"] = "custom"
    name: str
    data: dict[str, Any]


TraceEvent = (
    MessageEvent
    | FunctionCallEvent
    | ModelCallEvent
    | SpanBeginEvent
    | SpanEndEvent
    | CompactionEvent
    | ErrorEvent
    | CustomEvent
)

Event = Mapping[str, Any]
_SPAN_EVENTS = {"span_begin", "span_end"}


def read_events(events: Iterable[Event]) -> list[Item]:
    """The conversation that events tell, in their order.

    The answer of a model call is added where no message and no function call names that model call,
    and no item equals it.
    """
    events = list(events)
    named = [event["model_call_id"] for event in events if event.get("model_call_id")]
    items: list[Any] = []
    for event in events:
        if event.get("type") != "model_call_event":
            items += _items_of(event)
        elif event.get("id") not in named:
            items += [item for item in _answer_of(event) if item not in items]
    return items


def derive_items_from_message_events(
    events: Iterable[Event], *, span_id: str | None = None
) -> list[Item]:
    """The messages and function calls of one span, or of all events."""
    return [item for event in select_span(events, span_id) for item in _items_of(event)]


def derive_items_from_model_calls(
    events: Iterable[Event], *, span_id: str | None = None
) -> list[Item]:
    """The conversation that the model calls of one span, or of all events, tell.

    Of the context of each call, the items that are not yet part of the conversation are added, then
    its answer.
    """
    items: list[Item] = []
    for event in select_span(events, span_id):
        if event.get("type") == "model_call_event":
            context = items_from(event.get("input_context") or ())
            if context[: len(items)] == items:
                items = context
            else:
                items += [item for item in context if item not in items]
            items += _answer_of(event)
    return items


def select_span(events: Iterable[Event], span_id: str | None) -> list[Event]:
    """The events of one span and of the spans inside it, or all; KeyError without that span."""
    events = list(events)
    if span_id is None:
        return events
    begins = [event for event in events if event.get("type") == "span_begin"]
    if span_id not in map(span_of, begins):
        raise KeyError(span_id)
    if not any(event.get("span_id") for event in events if event.get("type") not in _SPAN_EVENTS):
        return _between(events, span_id)
    inside = {span_id}
    for _ in begins:  # children may be listed before their parents
        inside |= {
            span_of(begin) or ""
            for begin in begins
            if _read_id(begin.get("parent_span_id")) in inside
        }
    return [event for event in events if span_of(event) in inside]


def sort_events_by_span(events: Iterable[Event]) -> list[Event]:
    """The same events, each span in one piece where it began, from its beginning to its end."""
    events = list(events)
    begun = {span_of(event) for event in events if event.get("type") == "span_begin"}
    by_span: dict[Any, list[Event]] = {}
    for event in events:
        begins = event.get("type") == "span_begin"
        span = _read_id(event.get("parent_span_id")) if begins else span_of(event)
        by_span.setdefault(span if span in begun else None, []).append(event)

    ordered: list[Event] = []
    waiting = by_span.pop(None, [])[::-1]
    while waiting:
        event = waiting.pop()
        ordered.append(event)
        if event.get("type") == "span_begin":
            waiting += by_span.pop(span_of(event), [])[::-1]
    return ordered + [event for rest in by_span.values() for event in rest]


def span_of(event: Event) -> str | None:
    """The span that an event belongs to, begins or ends."""
    own = event.get("id") if event.get("type") in _SPAN_EVENTS else None
    return _read_id(event.get("span_id") or own)


def _read_id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _between(events: list[Event], span_id: str) -> list[Event]:
    inside: list[Event] = []
    for event in events:
        begins = event.get("type") == "span_begin" and span_of(event) == span_id
        if begins or inside:
            inside.append(event)
        if inside and event.get("type") == "span_end" and span_of(event) == span_id:
            break
    return inside


def _items_of(event: Event) -> list[Item]:
    kind = event.get("type")
    items: list[Any] = []
    if kind == "message_event":
        items = [event.get("item") or event.get("message")]
    elif kind == "function_call_event" and "function" in event:
        shared = {name: event[name] for name in ("call_id", "status") if event.get(name)}
        call = {"name": event["function"], "arguments": event.get("arguments"), **shared}
        items = [{"type": "function_call", **call}]
        if event.get("result") is not None:
            items.append({"type": "function_call_output", "output": event["result"], **shared})
    elif kind == "function_call_event":
        items.append(event.get("function_call") or event.get("item"))
        items.append(event.get("function_call_output") or event.get("output"))
    return items_from(item for item in items if item is not None)


def _answer_of(event: Event) -> list[Item]:
    if event.get("output_items") is not None:
        return items_from(event["output_items"])
    return items_from(output_items(event["output"])) if event.get("output") is not None else []
