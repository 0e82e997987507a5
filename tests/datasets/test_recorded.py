from typing import Any

import pytest

from evalwright.datasets.recorded import (
    add_empty_answer,
    convert_messages,
    explain_missing_answer,
    last_text,
    make_trace,
)
from evalwright.objects import read_trace


def test_texts_of_one_message_are_joined() -> None:
    parts = [{"type": "text", "text": "one"}, "two", {"type": "output_text", "text": "three"}]

    (item,) = convert_messages([{"role": "assistant", "content": parts}])

    assert item["content"] == [{"type": "output_text", "text": "one\ntwo\nthree"}]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        pytest.param("image_url", "[image left out]", id="an image of OpenAI"),
        pytest.param("input_audio", "[audio left out]", id="a sound"),
        pytest.param("image", "[image left out]", id="an image of Inspect"),
        pytest.param("document", "[document left out]", id="a document"),
    ],
)
def test_what_is_no_text_is_left_out_and_said(kind: str, said: str) -> None:
    parts = [{"type": "text", "text": "What is it?"}, {"type": kind, kind: "…"}]

    items = convert_messages([{"role": "user", "content": parts}])

    assert last_text(items, "user") == f"What is it?\n{said}"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            id="OpenAI",
        ),
        pytest.param({"id": "c", "function": "f", "arguments": {"a": 1}}, id="Inspect"),
        pytest.param({"id": "c", "name": "f", "arguments": {"a": 1}}, id="bare"),
        pytest.param(
            {"id": "c", "type": "custom", "custom": {"name": "f", "input": '{"a": 1}'}},
            id="a custom tool",
        ),
    ],
)
def test_a_call_is_read_in_each_of_its_shapes(call: dict[str, Any]) -> None:
    items = convert_messages([{"role": "assistant", "content": None, "tool_calls": [call]}])

    assert items == [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'}
    ]


def test_words_before_a_call_are_kept() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}

    items = convert_messages([{"role": "assistant", "content": "A moment.", "tool_calls": [call]}])

    assert [item["type"] for item in items] == ["message", "function_call"]


def test_the_old_way_to_call_a_function_is_read() -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}}

    call, gave = convert_messages([called, {"role": "function", "name": "f", "content": "7"}])

    assert (call["call_id"], gave["call_id"], gave["output"]) == ("f", "f", "7")


@pytest.mark.parametrize(
    ("message", "gave"),
    [
        pytest.param({"content": "7"}, {"output": "7"}, id="a text"),
        pytest.param({"content": [{"type": "text", "text": "7"}]}, {"output": "7"}, id="parts"),
        pytest.param({"content": None}, {"output": ""}, id="nothing"),
        pytest.param(
            {"content": "", "error": {"type": "timeout", "message": "too slow"}},
            {"output": "too slow", "status": "incomplete"},
            id="an error of Inspect",
        ),
    ],
)
def test_what_a_tool_gave_is_kept(message: dict[str, Any], gave: dict[str, str]) -> None:
    (item,) = convert_messages([{"role": "tool", "tool_call_id": "c", **message}])

    assert item == {"type": "function_call_output", "call_id": "c", **gave}


def test_tools_that_a_server_used_itself_are_calls_with_what_they_gave() -> None:
    used = {"type": "tool_use", "id": "s", "name": "web", "arguments": "{}", "result": "found"}

    items = convert_messages(
        [{"role": "assistant", "content": [used, {"type": "text", "text": "Yes."}]}]
    )

    assert [item["type"] for item in items] == [
        *("message", "function_call", "function_call_output")
    ]
    assert items[2]["output"] == "found"


@pytest.mark.parametrize(
    ("message", "thought"),
    [
        pytest.param(
            {"content": [{"type": "reasoning", "reasoning": "Hm."}, "Yes."]}, "Hm.", id="a part"
        ),
        pytest.param({"content": "Yes.", "reasoning_content": "Hm."}, "Hm.", id="beside it"),
        pytest.param(
            {"content": [{"type": "reasoning", "reasoning": "x9", "redacted": True}, "Yes."]},
            "[not shown]",
            id="redacted",
        ),
    ],
)
def test_reasoning_stands_before_the_answer_and_is_none(
    message: dict[str, Any], thought: str
) -> None:
    items = convert_messages([{"role": "assistant", **message}])

    assert items[0] == {"type": "reasoning", "content": thought}
    assert last_text(items, "assistant") == "Yes."


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"content": None, "refusal": "No."}, id="beside the content"),
        pytest.param({"content": [{"type": "refusal", "refusal": "No."}]}, id="a part"),
        pytest.param({"content": [{"type": "text", "text": "No.", "refusal": True}]}, id="Inspect"),
    ],
)
def test_a_refusal_is_one(message: dict[str, Any]) -> None:
    (item,) = convert_messages([{"role": "assistant", **message}])

    assert item["content"] == [{"type": "refusal", "refusal": "No."}]
    assert last_text([item], "assistant") == "No."


def test_an_empty_answer_is_an_answer() -> None:
    items = convert_messages(
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": ""}]
    )

    assert not explain_missing_answer(items)
    assert last_text(items, "assistant") == ""


@pytest.mark.parametrize(
    ("roles", "answered"),
    [
        pytest.param(["user"], False, id="only a question"),
        pytest.param(["user", "assistant"], True, id="an answer"),
        pytest.param(["user", "assistant", "user"], False, id="one more question"),
        pytest.param(["user", "assistant", "tool"], False, id="a tool has the last word"),
        pytest.param(["user", "assistant", "user", "tool"], False, id="only an older answer"),
        pytest.param(["assistant"], True, id="an answer alone"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_who_speaks_last_says_whether_it_is_answered(roles: list[str], *, answered: bool) -> None:
    items = convert_messages([{"role": role, "content": "x"} for role in roles])

    assert (not explain_missing_answer(items)) is answered


def test_an_answer_that_is_only_a_call_says_nothing_rather_than_what_was_said_before() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    items = convert_messages(
        [
            {"role": "assistant", "content": "older"},
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": None, "tool_calls": [call, call]},
        ]
    )

    assert not explain_missing_answer(items)
    assert last_text(add_empty_answer(items), "assistant") == ""
    assert [one["type"] for one in add_empty_answer(items)][-3:] == [
        "message",
        "function_call",
        "function_call",
    ]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        pytest.param("hello", "expected a message, got `'hello'`", id="a text"),
        pytest.param({"content": "x"}, "expected a `role`", id="no role"),
        pytest.param({"role": "bot", "content": "x"}, "got `'bot'`", id="another role"),
        pytest.param({"role": ["user"], "content": "x"}, "got `['user']`", id="a list as role"),
        pytest.param({"role": "user", "content": 3}, "expected text or parts", id="a number"),
        pytest.param({"role": "user", "content": [{}]}, "expected text or parts", id="no type"),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "text": None}]},
            "expected a string in a part",
            id="a text that is none",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": {}}, "expected a list of `tool_calls`", id="calls"
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"id": "c"}]},
            "a function name",
            id="a name",
        ),
        pytest.param({"role": "assistant", "tool_calls": [3]}, "expected a call", id="a call"),
    ],
)
def test_what_is_no_message_is_said_with_its_place(message: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r"messages\[1\]: ") as caught:
        convert_messages([{"role": "user", "content": "?"}, message])
    assert said in str(caught.value)


def test_a_trace_can_be_read_with_what_is_known_of_it() -> None:
    items = convert_messages(
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": "4"}]
    )

    read = read_trace(make_trace(items, output="four", model="m", total_time=None))

    assert str(read.output) == "four"
    assert read.trace.metadata.model == "m"
    assert "total_time" not in make_trace(items, total_time=None)["metadata"]
