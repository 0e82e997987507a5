"""The events of a recorded agent, and the items and spans in them.

    {"type": "message_event", "item": {…}}            or `message`
    {"type": "function_call_event", "function_call": {…}, "function_call_output": {…} | None}
    {"type": "model_call_event", "output": {…}}       any output of a model
    {"type": "span_begin", "span_id": "s1", "name": "plan", "span_type": "agent"}
    {"type": "span_end", "span_id": "s1"}

The names of the keys are ours: they are not published. Other events (compaction, error, custom)
are kept in the trace and add no item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .items import Item, items_from
from .output import output_items


def items_of_events(events: Iterable[Mapping[str, Any]]) -> list[Item]:
    """What was said and called, in order."""
    found: list[Any] = []
    for event in events:
        kind = event.get("type")
        if kind == "message_event":
            found.append(event.get("item") or event.get("message"))
        elif kind == "function_call_event":
            found += [event.get("function_call") or event.get("item")]
            found += [event.get("function_call_output") or event.get("output")]
        elif kind == "model_call_event" and event.get("output") is not None:
            found += output_items(event["output"])
    return items_from(one for one in found if one is not None)


def events_of_span(events: Iterable[Mapping[str, Any]], span_id: str) -> list[Mapping[str, Any]]:
    """From the beginning of a span to its end, spans inside it included; KeyError if it is not."""
    found: list[Mapping[str, Any]] = []
    for event in events:
        begins = event.get("type") == "span_begin" and span_of(event) == span_id
        if begins or found:
            found.append(event)
        if found and event.get("type") == "span_end" and span_of(event) == span_id:
            break
    if not found:
        raise KeyError(span_id)
    return found


def spans_in(events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The events that begin a span, in order."""
    return (event for event in events if event.get("type") == "span_begin")


def span_of(event: Mapping[str, Any]) -> Any:
    """The span that an event begins or ends."""
    return event.get("span_id", event.get("id"))
