import json
import math
from typing import Any

import pytest
from pydantic import ValidationError
from tests.solvers.made import Replies, solve, solve_with, solver, spoken

from evalwright.objects import SolverTrace, make_message
from evalwright.types import Completion, Message, Sample, Usage

CHAT: dict[str, Any] = {
    "type": "single_turn_solver",
    "input_builder": {
        "type": "chat_completion",
        "input_messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Q: {{ sample.question }}"},
        ],
    },
}


def generic(template: str) -> dict[str, Any]:
    return {
        "type": "single_turn_solver",
        "input_builder": {"type": "generic", "template": template},
    }


def test_the_messages_are_sent_as_written_and_the_reply_follows_them() -> None:
    model = Replies("Paris")

    trace = solve_with(model, CHAT, {"question": 'where "is" it?\n{{ x }}'})

    assert model.asked() == [[("system", "Be brief."), ("user", 'Q: where "is" it?\n{{ x }}')]]
    assert model.requests[0].input is None
    assert spoken(trace)[-1] == "assistant: Paris"
    assert trace.conversation == {
        "items": [
            make_message("system", "Be brief."),
            make_message("user", 'Q: where "is" it?\n{{ x }}'),
            make_message("assistant", "Paris"),
        ],
        "raw_outputs": [
            {
                "choices": [{"message": {"role": "assistant", "content": "Paris"}}],
                "usage": {"num_prompt_tokens": 3, "num_completion_tokens": 1},
            }
        ],
        "direct_ios": [],
    }


def test_a_trace_is_readable_and_counted() -> None:
    reply = Completion(
        text="Paris",
        usage=Usage(requests=2, prompt_tokens=5, completion_tokens=1, cost=0.25),
        finish="length",
        logprobs=(math.log(0.5),),
        bodies=("out", "in"),
    )

    trace = solve(CHAT, {"question": "?"}, reply)

    assert trace.input == "system: Be brief.\n\nuser: Q: ?"
    assert trace.output == trace.post_processed == "Paris"
    assert trace.usage == reply.usage
    assert (trace.finish, trace.nll_tokens) == ("length", 1)
    assert trace.confidence == pytest.approx(0.5)
    assert trace.nll == pytest.approx(math.log(2))
    assert trace.latency_s > 0
    assert trace.conversation["direct_ios"] == [
        {"direct_input": {"body": "out"}, "direct_output": {"body": "in", "status_code": 200}}
    ]


def test_of_one_user_message_the_input_is_its_text() -> None:
    fields = generic('{"messages": [{"role": "user", "content": "hi"}]}')

    assert solve(fields, None, "a").input == "hi"


def test_a_generic_template_with_messages_is_a_chat_and_its_other_keys_go_along() -> None:
    model = Replies("4")
    fields = generic(
        '{"messages": [{"role": "user", "content": {{ sample.q | tojson }}}], "temperature": 0}'
    )

    trace = solve_with(model, fields, {"q": 'say "4"\n'})

    assert model.asked() == [[("user", 'say "4"\n')]]
    assert model.requests[0].input == {"temperature": 0}
    assert model.requests[0].task == "chat_completion"
    assert trace.output == "4"


def test_messages_of_a_generic_template_may_have_parts_and_calls() -> None:
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "d"}]},
        {"role": "user", "content": ["a", "b"]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]
    model = Replies("x")

    solve_with(model, generic(json.dumps({"messages": messages})))

    assert model.asked() == [[("system", "d"), ("user", "a\nb"), ("assistant", ""), ("tool", "1")]]
    sent = model.requests[0].messages
    assert sent[2].tool_calls[0].function.name == "f"
    assert sent[3] == Message("tool", "1", tool_call_id="c")


def test_other_json_is_the_input_of_a_custom_task() -> None:
    model = Replies(Completion(text="", output={"label": "ä", "n": 1}))

    trace = solve_with(model, generic('{"text": "{{ sample.t }}"}'), {"t": "x"}, task="custom")

    assert model.requests[0].task == "custom"
    assert model.requests[0].input == {"text": "x"}
    assert model.requests[0].messages == ()
    assert trace.input == '{"text": "x"}'
    assert trace.output == '{"label": "ä", "n": 1}'
    assert SolverTrace.from_json(trace.conversation).output.label == "ä"
    assert [one["type"] for one in trace.conversation["items"]] == [
        "custom_task_input_message",
        "custom_task_output_message",
    ]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        pytest.param(None, "text", id="a text is the output"),
        pytest.param([1, True], "[1, true]", id="a list"),
        pytest.param(True, "true", id="a boolean"),
        pytest.param("make_message", "make_message", id="a string"),
    ],
)
def test_what_a_custom_task_gives_back_is_kept_as_it_is(output: Any, text: str) -> None:
    trace = solve(generic("[1]"), {}, Completion(text="text", output=output), task="custom")

    assert trace.output == text
    assert trace.conversation["raw_outputs"] == ["text" if output is None else output]


def test_the_messages_of_a_custom_task_are_json_like_any_other() -> None:
    model = Replies(Completion(text="", output={}))

    solve_with(model, CHAT, {"question": "?"}, task="custom")

    assert model.requests[0].input["messages"][0] == {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    ("template", "sent"),
    [
        pytest.param('{"input": ["a", "b"]}', {"input": ["a", "b"]}, id="an object"),
        pytest.param('["a", "b"]', {"input": ["a", "b"]}, id="a list"),
        pytest.param('"a"', {"input": "a"}, id="a text"),
        pytest.param('{"input": "a", "dimensions": 2}', {"input": "a", "dimensions": 2}, id="more"),
    ],
)
def test_a_task_of_embeddings_sends_texts(template: str, sent: Any) -> None:
    vectors = {"embeddings": [[0.5, 1.0]]}
    model = Replies(Completion(text="", output=vectors, usage=Usage(1, 2)))

    trace = solve_with(model, generic(template), task="embeddings")

    assert model.requests[0].task == "embeddings"
    assert model.requests[0].input == sent
    assert SolverTrace.from_json(trace.conversation).output.embeddings == [[0.5, 1.0]]
    assert trace.conversation["raw_outputs"] == [
        {**vectors, "usage": {"num_prompt_tokens": 2, "num_completion_tokens": 0}}
    ]
    assert json.loads(trace.output)["embeddings"] == [[0.5, 1.0]]


@pytest.mark.parametrize(
    ("template", "task", "said_so"),
    [
        pytest.param(
            '{"messages": [{"role": "user", "content": "{{ sample.q }}"}]}',
            "chat_completion",
            "the template must render to JSON: .* near `.*say",
            id="a quote in a text",
        ),
        pytest.param("", "chat_completion", "must render to JSON", id="nothing"),
        pytest.param('{"messages": "x"}', "chat_completion", "expected a list", id="no list"),
        pytest.param('{"messages": []}', "chat_completion", "at least one message", id="none"),
        pytest.param('{"messages": [1]}', "chat_completion", "an item or a message", id="no one"),
        pytest.param(
            '{"messages": [{"role": "bot", "content": ""}]}',
            "chat_completion",
            "as a role, got `bot`",
            id="a role",
        ),
        pytest.param(
            '{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            "chat_completion",
            "expected text as the content of a message, got `image_url`",
            id="an image",
        ),
        pytest.param('{"input": [1]}', "embeddings", "a string or a list of strings", id="numbers"),
        pytest.param('{"input": []}', "embeddings", "a string or a list of strings", id="no text"),
        pytest.param("{{ sample.nothing }}", "chat_completion", "nothing", id="undefined"),
    ],
)
def test_what_cannot_be_asked_is_said(template: str, task: str, said_so: str) -> None:
    with pytest.raises(ValueError, match=said_so):
        solve(generic(template), {"q": 'say "x"'}, "never", task=task)


def test_json_that_breaks_has_a_hint() -> None:
    with pytest.raises(ValueError, match="JSON") as caught:
        solve(generic('"{{ sample.q }}"'), {"q": "a\nb"})

    assert "tojson" in caught.value.hint  # type: ignore[attr-defined]


def test_a_model_that_gives_text_for_embeddings_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected embeddings"):
        solve(generic('"a"'), {}, "text", task="embeddings")


def test_a_completion_with_more_than_text_is_kept() -> None:
    output = {
        "choices": [
            {
                "message": {"role": "assistant", "content": "Paris"},
                "references": [{"content": "r"}],
            }
        ],
        "usage": {"num_prompt_tokens": 9},
    }

    trace = solve(CHAT, {"question": "?"}, Completion(text="Paris", output=output))

    seen = SolverTrace.from_json(trace.conversation).output
    assert seen.choices[0].references[0].content == "r"
    assert seen.usage == {"num_prompt_tokens": 9, "num_completion_tokens": 0}


def test_calls_of_functions_are_items_and_their_text_is_shown() -> None:
    calls = [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]
    output = {"choices": [{"message": {"role": "assistant", "content": "", "tool_calls": calls}}]}
    reply = Completion(text='[{"name":"f"}]', output=output, finish="tool_calls")

    trace = solve(CHAT, {"question": "?"}, reply)

    assert trace.conversation["items"][-1]["type"] == "function_call"
    assert trace.output == '[{"name":"f"}]'
    assert trace.input == "system: Be brief.\n\nuser: Q: ?"


def test_what_is_read_is_what_is_sent() -> None:
    made = solver(CHAT)
    seen = made.describe_inputs(Sample("a", {"question": "?", "target": "x"}))

    assert seen == made.describe_inputs(Sample("b", {"question": "?", "target": "y"}))
    assert seen != made.describe_inputs(Sample("a", {"question": "!"}))
    assert json.loads(seen)["messages"][1]["content"] == "Q: ?"


def test_where_nothing_can_be_sent_the_row_is_read_and_solving_says_why() -> None:
    made = solver(CHAT)

    assert '"x":1' in made.describe_inputs(Sample("a", {"x": 1}))
    with pytest.raises(ValueError, match="question"):
        solve(CHAT, {"x": 1})


def test_a_role_may_be_a_template() -> None:
    builder = {
        "type": "chat_completion",
        "input_messages": [{"role": "{{ sample.role }}", "content": "hi"}],
    }
    model = Replies("a")

    solve_with(model, {**CHAT, "input_builder": builder}, {"role": "assistant"})

    assert model.asked() == [[("assistant", "hi")]]


@pytest.mark.parametrize(
    ("fields", "said_so"),
    [
        pytest.param({"input_messages": []}, "at least 1 item", id="no message"),
        pytest.param(
            {"input_messages": [{"role": "bot", "content": "x"}]}, "got `bot`", id="a role"
        ),
        pytest.param(
            {"input_messages": [{"role": "user", "contents": "x"}]}, "contents", id="a typo"
        ),
    ],
)
def test_a_builder_is_checked_when_it_is_read(fields: dict[str, Any], said_so: str) -> None:
    with pytest.raises(ValidationError, match=said_so):
        solver({**CHAT, "input_builder": {"type": "chat_completion", **fields}})


def test_a_stored_trace_is_as_good_as_new() -> None:
    trace = solve(CHAT, {"question": "?"}, "a")

    assert solver(CHAT).reuse(Sample("a", {}), trace) is trace


@pytest.mark.parametrize("name", ["latticeflow", "open_responses"])
def test_a_message_format_changes_nothing(name: str) -> None:
    given = solver({**CHAT, "message_format": name})

    assert (given.settings, given.name) == (solver(CHAT).settings, "single_turn_solver")
    assert given.model_keys == ()
    assert given.calls_model
