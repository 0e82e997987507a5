import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalwright.objects import SolverTrace, make_message, variables
from evalwright.objects.solver_trace import GroupedSolverTrace, read_trace

ITEMS = [make_message("user", "q"), make_message("assistant", "a")]
MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"items": ITEMS}, id="a trace"),
        pytest.param({"trace": {"items": ITEMS}, "raw_outputs": []}, id="a solver trace"),
        pytest.param(ITEMS, id="items"),
        pytest.param(MESSAGES, id="messages"),
        pytest.param({"messages": MESSAGES}, id="an object with messages"),
        pytest.param({"items": MESSAGES}, id="messages where items are"),
        pytest.param(json.dumps({"items": ITEMS}), id="JSON text, as in a CSV file"),
        pytest.param(json.dumps(MESSAGES), id="JSON text of messages"),
        pytest.param(
            {"events": [{"type": "message_event", "item": one} for one in ITEMS]}, id="events"
        ),
        pytest.param(SolverTrace(items=ITEMS), id="a trace already"),
    ],
)
def test_a_trace_is_read_in_any_shape(value: Any) -> None:
    made = read_trace(value)

    assert made.to_json()["items"] == ITEMS
    assert str(made.output) == "a"


def test_what_the_older_format_calls_output_is_the_raw_output() -> None:
    output = {"choices": [{"message": {"role": "assistant", "content": "b"}}]}

    assert read_trace({"messages": MESSAGES, "output": output}).to_json()["raw_outputs"] == [output]


def test_outputs_of_the_older_format_are_read_with_what_went_over_the_wire() -> None:
    io = {"direct_input": {"body": "{}"}, "direct_output": {"body": "[]", "status_code": 200}}
    custom = read_trace({"messages": [{"x": 1}, {"y": 2}], "output": {"y": 2}, "direct_ios": [io]})

    assert [one.type for one in custom.items] == [
        "custom_task_input_message",
        "custom_task_output_message",
    ]
    assert custom.output.y == 2
    assert custom.to_json()["direct_ios"] == [io]
    assert custom.direct_ios[0].direct_output.body == "[]"
    older = {"items": [], "direct_ios": [{"input": "{}", "output": "[]"}]}
    assert read_trace(older).to_json()["direct_ios"] == [io]
    response = read_trace({"raw_output": {"z": 1}, "items": ITEMS})
    assert response.to_json()["raw_outputs"] == [{"z": 1}]


@pytest.mark.parametrize("in_list", [True, False])
def test_a_group_of_outputs_is_read_with_the_items_of_all(*, in_list: bool) -> None:
    single = {"messages": MESSAGES, "output": None}

    read = read_trace({"solver_outputs": [single, ITEMS] if in_list else {"a": single, "b": ITEMS}})

    assert isinstance(read, GroupedSolverTrace)
    assert read.to_json()["items"] == [*ITEMS, *ITEMS]
    again: Any = SolverTrace.from_json(read.to_json())
    assert again == read
    assert str(again.solver_outputs[1 if in_list else "b"].output) == "a"


@pytest.mark.parametrize(
    ("value", "said_so"),
    [
        pytest.param("no json", "in JSON, got the text `no json`", id="text"),
        pytest.param(None, "got `NoneType`", id="nothing"),
        pytest.param("3", "got `int`", id="a number in text"),
        pytest.param({"a": 1}, "got `a`", id="another object"),
        pytest.param({}, "an empty object", id="an empty object"),
        pytest.param([1], "expected an item or a message", id="a list of others"),
    ],
)
def test_what_is_no_trace_is_refused(value: Any, said_so: str) -> None:
    with pytest.raises(ValueError, match=said_so):
        read_trace(value)


SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
WORDS = st.sampled_from(
    [
        *("type", "role", "content", "text", "refusal", "items", "messages", "events", "trace"),
        *("raw_outputs", "direct_ios", "output", "tool_calls", "function", "arguments", "choices"),
        *("message", "metadata", "solver_outputs", "call_id", "embeddings", "references"),
    ]
)
VALUES = SCALARS | st.sampled_from(
    ["message", "user", "assistant", "tool", "function_call", "message_event", "span_begin"]
)
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4)
)


@given(JSON)
@settings(max_examples=400)
def test_any_json_is_a_trace_or_a_value_error(value: Any) -> None:
    try:
        made = read_trace(value)
    except ValueError:
        return

    again = SolverTrace.from_json(json.loads(json.dumps(made.to_json())))

    assert again.to_json() == made.to_json()
    for name in variables({}, again.to_json()).values():
        assert isinstance(str(name), str)
    assert isinstance([again.trace.turns, again.trace.function_calls, str(again)], list)


def test_a_recorded_refusal_keeps_its_words() -> None:
    asked = {"role": "user", "content": "q"}
    read = read_trace([asked, {"role": "assistant", "content": None, "refusal": "nope"}])

    assert read.trace.get_last_assistant_text() == "nope"
    assert read.output.choices[0].message.refusal == "nope"
    assert read.messages[-1].refusal == "nope"
