import copy
import json
from typing import Any

import pytest

from evalwright.objects import ModelResponse, SolverTrace, Trace, make_message

CHAT: dict[str, Any] = {
    "choices": [{"message": {"role": "assistant", "content": "Paris"}}],
    "usage": {"num_prompt_tokens": 3, "num_completion_tokens": 1},
}
CONVERSATION: dict[str, Any] = {
    "items": [
        make_message("system", "s"),
        make_message("user", "q"),
        make_message("assistant", "Paris"),
    ],
    "raw_outputs": [CHAT],
    "direct_ios": [{"input": "{}", "output": "{}"}],
    "metadata": {"agent": "a"},
    "span_name": "n",
}


def test_json_goes_in_and_the_same_comes_out() -> None:
    made = SolverTrace.from_json(json.loads(json.dumps(CONVERSATION)))
    assert made.to_json() == CONVERSATION

    looked_at = [made[name] for name in made]
    assert len(looked_at) == 6
    assert made.to_json() == CONVERSATION
    assert copy.deepcopy(made) == made


def test_the_old_and_the_new_names_are_on_one_object() -> None:
    made: Any = SolverTrace.from_json(CONVERSATION)

    assert made.output.choices[0].message.content == "Paris"
    assert made["output"]["choices"][0]["message"]["content"] == "Paris"
    assert made.messages[0].content == made.messages[0]["content"] == "s"
    assert [one.role for one in made.messages] == ["system", "user", "assistant"]
    assert made.trace.get_last_assistant_text() == "Paris"
    assert made.raw_outputs[0].usage.num_prompt_tokens == 3
    assert made.direct_ios[0]["input"] == "{}"
    assert str(made) == "Paris"


def test_what_was_given_is_not_changed_by_looking_or_appending() -> None:
    given = json.loads(json.dumps(CONVERSATION))
    made = SolverTrace.from_json(given)

    made.append_user_message("more")
    made.items[0]["role"] = "developer"
    made.add_model_response(ModelResponse(CHAT))

    assert given == CONVERSATION


def test_without_a_raw_output_the_last_assistant_message_is_the_output() -> None:
    made = SolverTrace(items=[make_message("user", "q"), {"role": "assistant", "content": "a"}])

    assert made.output.choices[0].message.content == "a"
    assert str(made.output) == "a"
    assert SolverTrace(items=[make_message("user", "q")]).output is None
    assert str(SolverTrace()) == ""


def test_messages_leave_calls_out() -> None:
    made = SolverTrace(items=[{"type": "function_call", "name": "f"}, make_message("user", "q")])

    assert made.messages == [{"role": "user", "content": "q"}]


def test_a_solver_of_an_author_builds_a_trace() -> None:
    trace = SolverTrace()

    trace.append_system_message("s")
    trace.append_user_message("q")
    trace.add_model_response(ModelResponse(CHAT))
    trace.append_assistant_message("b")
    trace.append({"role": "tool", "tool_call_id": "c", "content": "1"})
    trace.extend([make_message("user", "u")])
    trace.append_custom_task_input_message({"x": 1})

    assert [one.get("role", one.type) for one in trace.items] == [
        "system",
        "user",
        "assistant",
        "assistant",
        "function_call_output",
        "user",
        "custom_task_input_message",
    ]
    assert trace.raw_outputs == [CHAT]
    assert trace.items[-1].content == {"x": 1}


def test_fields_may_be_given_and_replaced() -> None:
    made = SolverTrace(trace=Trace.from_items([make_message("user", "q")]), raw_outputs=[{"x": 1}])

    made.raw_outputs = [CHAT]

    assert str(made.output) == "Paris"
    assert made.direct_ios == []


def test_a_response_has_its_text_items_and_raw_output() -> None:
    response: Any = ModelResponse(CHAT)

    assert response.text == str(response) == "Paris"
    assert [one.type for one in response.items] == ["message"]
    assert response.raw_output.usage.num_prompt_tokens == 3
    assert response.to_json() == {"items": [make_message("assistant", "Paris")], "raw_output": CHAT}
    assert ModelResponse(CHAT) == response
    assert ModelResponse(items=[{"role": "assistant", "content": "x"}]).text == "x"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({"embeddings": [[1.0]]}, id="embeddings"),
        pytest.param({"label": "x"}, id="custom"),
        pytest.param({"items": [{"type": "function_call", "name": "f"}]}, id="a call alone"),
    ],
)
def test_the_text_of_a_response_without_a_message_is_an_error(raw: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no assistant message"):
        _ = ModelResponse(raw).text


def test_only_the_trace_of_a_group_has_single_traces() -> None:
    single = SolverTrace.from_json(CONVERSATION)
    group = SolverTrace.from_json({**CONVERSATION, "solver_outputs": [CONVERSATION]})

    assert not hasattr(single, "solver_outputs")
    assert "solver_outputs" not in single
    assert group["solver_outputs"][0].trace == single.trace
    with pytest.raises(ValueError, match="solver_outputs"):
        SolverTrace(items=[], solver_outputs=[])
