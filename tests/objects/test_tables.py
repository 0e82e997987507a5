"""Every name of the objects that snippets and templates see, both ways."""

from typing import Any

import pytest

from evalwright.objects import (
    ModelResponse,
    SampleScore,
    SolverTrace,
    SystemTaskMetricEntry,
    SystemTaskOutput,
    Trace,
    items_from,
    make_message,
    variables,
)
from evalwright.templates import Template

CHAT: dict[str, Any] = {
    "choices": [
        {
            "message": {"role": "assistant", "content": "Paris"},
            "references": [{"content": "an atlas"}],
        }
    ],
    "usage": {"num_prompt_tokens": 3, "num_completion_tokens": 1},
}
CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"up": 1}'}
GAVE = {"type": "function_call_output", "call_id": "c", "output": "found"}
CONVERSATION: dict[str, Any] = {
    "items": [
        make_message("system", "s"),
        make_message("user", "q"),
        CALL,
        GAVE,
        make_message("assistant", "Paris"),
    ],
    "raw_outputs": [CHAT],
    "direct_ios": [{"input": "{}", "output": "{}"}],
    "metadata": {"trace_id": "t", "agent": "a"},
    "events": [],
    "span_id": "1",
    "span_name": "n",
    "span_type": "k",
}
SOLVED = SolverTrace.from_json(CONVERSATION)
TRACE = SOLVED.trace


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("output.choices[0].message.role", "assistant"),
        ("output.choices[0].message.content", "Paris"),
        ("output.choices[0].message.refusal", None),
        ("output.choices[0].references[0].content", "an atlas"),
        ("output.usage.num_prompt_tokens", 3),
        ("output.usage.num_completion_tokens", 1),
        ("messages[0].role", "system"),
        ("messages[0].content", "s"),
        ("direct_ios[0].input", "{}"),
        ("raw_outputs[0].usage.num_prompt_tokens", 3),
        ("items[0].role", "system"),
        ("trace.span_id", "1"),
    ],
)
@pytest.mark.parametrize("way", ["with a dot", "in brackets"])
def test_a_solver_output_is_read_both_ways(path: str, value: Any, way: str) -> None:
    if way == "in brackets":
        head, *names = path.replace("[0]", ".0").split(".")
        steps = [one if one == "0" else repr(one) for one in names]
        path = head + "".join(f"[{step}]" for step in steps)

    template = Template(f"{{{{ solver_output.{path} }}}}")

    assert template.render(**variables({}, CONVERSATION)) == str(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FORMAT", "open_responses"),
        ("items", 5),
        ("events", 0),
        ("span_id", "1"),
        ("span_name", "n"),
        ("span_type", "k"),
        ("preamble", 1),
        ("conversation_items", 4),
        ("system_messages", 1),
        ("turns", 1),
        ("function_calls", 1),
        ("function_outputs", 1),
        ("assistant_messages", 1),
        ("user_messages", 1),
    ],
)
def test_a_trace_has_these_fields_and_properties(name: str, value: Any) -> None:
    found = getattr(TRACE, name)

    assert (len(found) if isinstance(value, int) else found) == value


@pytest.mark.parametrize(
    "name",
    [
        *("trace_id", "source_type", "source_uri", "agent", "model", "tags", "created_at"),
        *("total_time", "total_tokens", "message_count", "error", "extra"),
    ],
)
def test_the_metadata_of_a_trace_have_these_fields(name: str) -> None:
    known = {"trace_id": "t", "agent": "a"}

    assert getattr(TRACE.metadata, name) == TRACE.metadata.get(name) == known.get(name)


@pytest.mark.parametrize(
    ("method", "arguments", "value"),
    [
        ("spans", [], []),
        ("get_function_calls_by_name", ["look"], [CALL]),
        ("get_function_output_for_call", ["c"], GAVE),
        ("get_function_call_pairs", [], [(CALL, GAVE)]),
        ("get_last_assistant_text", [], "Paris"),
        ("get_last_user_text", [], "q"),
        ("get_first_system_prompt", [], "s"),
        ("get_function_call_arguments", [CALL], {"up": 1}),
        ("get_function_output_text", [GAVE], "found"),
    ],
)
def test_a_trace_has_these_methods(method: str, arguments: list[Any], value: Any) -> None:
    assert getattr(TRACE, method)(*arguments) == value


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *[("assistant_items", 3), ("assistant_messages", 1), ("function_calls", 1)],
        *[("function_outputs", 1), ("function_call_pairs", 1)],
    ],
)
def test_a_turn_has_these_properties(name: str, count: int) -> None:
    (turn,) = TRACE.turns

    assert turn.user_message.text == "q"
    assert len(getattr(turn, name)) == count


@pytest.mark.parametrize(
    ("method", "argument", "items"),
    [
        ("append", make_message("user", "x"), ["message"]),
        ("extend", [make_message("user", "x"), CALL], ["message", "function_call"]),
        ("append_user_message", "x", ["message"]),
        ("append_system_message", "x", ["message"]),
        ("append_assistant_message", "x", ["message"]),
        ("append_custom_task_input_message", {"x": 1}, ["custom_task_input_message"]),
        ("add_model_response", ModelResponse(CHAT), ["message"]),
    ],
)
def test_a_solver_trace_grows_by_these_methods(
    method: str, argument: Any, items: list[str]
) -> None:
    trace = SolverTrace()

    getattr(trace, method)(argument)

    assert [one.type for one in trace.items] == items
    assert len(trace.raw_outputs) == (method == "add_model_response")


@pytest.mark.parametrize(
    ("made", "names"),
    [
        pytest.param(SOLVED, {"trace", "raw_outputs", "direct_ios"}, id="SolverTrace"),
        pytest.param(SOLVED, {"items", "messages", "output"}, id="SolverTrace, the old view"),
        pytest.param(ModelResponse(CHAT), {"items", "raw_output"}, id="ModelResponse"),
        pytest.param(SampleScore({}), {"values", "metadata", "direct_ios"}, id="SampleScore"),
        pytest.param(SystemTaskOutput({}), {"metrics"}, id="SystemTaskOutput"),
        pytest.param(SystemTaskMetricEntry(1), {"value", "reason"}, id="SystemTaskMetricEntry"),
    ],
)
def test_an_object_has_these_fields_both_ways(made: Any, names: set[str]) -> None:
    for name in names:
        assert getattr(made, name) == made[name]


PART = {"type": "output_text", "text": "x", "annotations": [], "logprobs": []}


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        pytest.param(
            {"type": "message", "role": "user", "content": [PART]},
            {"id", "status", "role", "content"},
            id="message",
        ),
        pytest.param(CALL, {"id", "call_id", "name", "arguments", "status"}, id="function_call"),
        pytest.param(GAVE, {"id", "call_id", "output", "status"}, id="function_call_output"),
        pytest.param(
            {"type": "custom_task_input_message", "content": {"x": 1}}, {"content"}, id="input"
        ),
        pytest.param(
            {"type": "custom_task_output_message", "content": [1]}, {"content"}, id="output"
        ),
    ],
)
def test_an_item_has_these_fields_both_ways(fields: dict[str, Any], names: set[str]) -> None:
    (made,) = items_from([fields])

    for name in names:
        assert getattr(made, name) == made[name] == fields.get(name)


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer"])
@pytest.mark.parametrize(
    ("part", "text"),
    [
        pytest.param({"type": "input_text", "text": "x"}, "x", id="input_text"),
        pytest.param(PART, "x", id="output_text"),
        pytest.param({"type": "refusal", "refusal": "no"}, "no", id="refusal"),
    ],
)
def test_a_message_of_any_role_has_the_text_of_its_parts(
    role: str, part: dict[str, Any], text: str
) -> None:
    (made,) = Trace.from_items([{"type": "message", "role": role, "content": [part]}]).items

    assert (made.role, str(made.content)) == (role, text)


@pytest.mark.parametrize(
    "name",
    [
        *("sample", "solver_output", "messages", "model_output"),
        *("model_outputs", "trace", "input_prompt"),
    ],
)
def test_a_template_knows_this_name_where_there_is_a_solver(name: str) -> None:
    assert name in variables({}, CONVERSATION)
    assert (name in variables({})) is (name == "sample")
