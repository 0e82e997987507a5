from typing import Any

import pytest

from evalwright.objects import SolverTrace, Trace, make_message
from evalwright.objects.output import readable, to_text

CALL = {"type": "function_call", "name": "f", "arguments": '{"a": 1}'}


@pytest.mark.parametrize(
    ("items", "text"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([make_message("user", "q")], "q", id="one user message is its text"),
        pytest.param([make_message("system", "s")], "system: s", id="one of another"),
        pytest.param(
            [make_message("system", "s"), make_message("user", "q")],
            "system: s\n\nuser: q",
            id="two",
        ),
        pytest.param([{"role": "user", "content": "q"}], "q", id="a message of a chat"),
        pytest.param(
            [CALL, {"type": "function_call_output", "output": {"b": 2}}],
            'function_call: f({"a": 1})\n\nfunction_call_output: {"b": 2}',
            id="a call and what it gave",
        ),
        pytest.param(
            [{"type": "function_call_output", "output": [{"type": "input_text", "text": "t"}]}],
            "t",
            id="what a call gave, in parts",
        ),
        pytest.param(
            [{"type": "custom_task_input_message", "content": {"x": "ä"}}],
            '{"x": "ä"}',
            id="the input of a custom task",
        ),
    ],
)
def test_a_conversation_is_read(items: list[dict[str, Any]], text: str) -> None:
    assert readable(items) == text
    trace = Trace(items)
    assert len(trace.items) == len(items)
    assert str(trace) == text, "whether its items were looked at or not"


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (True, "true"), (None, "null"), ({"a": 1}, '{"a": 1}'), ([1], "[1]")],
)
def test_json_is_shown_as_json_and_text_as_text(value: Any, text: str) -> None:
    assert to_text(value) == text


def test_a_trace_does_not_spill_its_content_into_messages_of_errors() -> None:
    made = SolverTrace(items=[make_message("user", "secret")])

    assert repr(made) == "<SolverTrace of 1 items>"
    assert repr(made.trace) == "<Trace of 1 items>"
