from typing import Any

import pytest

from evalwright.objects.items import make_message
from evalwright.objects.trace import Trace

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
GAVE = {"type": "function_call_output", "call_id": "c", "output": "1"}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_event", "item": make_message("user", "q")},
    {"type": "span_begin", "span_id": "s1", "name": "plan", "span_type": "agent"},
    {"type": "function_call_event", "function_call": CALL, "function_call_output": GAVE},
    {"type": "span_begin", "id": "s2", "name": "inner"},
    {"type": "function_call_event", "function_call": {**CALL, "call_id": "d"}},
    {"type": "span_end", "id": "s2"},
    {"type": "span_end", "span_id": "s1"},
    {"type": "compaction"},
    {
        "type": "model_call_event",
        "output": {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
    },
]


def test_events_become_items_in_their_order() -> None:
    trace: Any = Trace.from_events(EVENTS)

    assert [one.type for one in trace.items] == [
        "message",
        "function_call",
        "function_call_output",
        "function_call",
        "message",
    ]
    assert len(trace.events) == len(EVENTS)


def test_a_span_holds_the_spans_inside_it() -> None:
    outer, inner = Trace.from_events(EVENTS).spans()

    assert (outer.span_id, outer.span_name, outer.span_type) == ("s1", "plan", "agent")
    assert [one.call_id for one in outer.items] == ["c", "c", "d"]
    assert (inner.span_name, [one.call_id for one in inner.items]) == ("inner", ["d"])


def test_a_span_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="s9"):
        Trace.from_events(EVENTS, "s9")


def test_a_trace_without_events_has_no_spans() -> None:
    assert Trace().spans() == []
