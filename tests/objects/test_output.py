import json
from typing import Any

import pytest

from evalwright.objects.items import make_message
from evalwright.objects.output import (
    CustomOutput,
    OpenResponse,
    answer_text,
    completion_of,
    old_message,
    old_view,
    output_items,
    wrap_output,
)

CHAT: dict[str, Any] = {
    "id": "abc",
    "choices": [
        {
            "message": {"role": "assistant", "content": "Paris"},
            "references": [{"content": "France's capital is Paris"}],
        }
    ],
    "usage": {"num_prompt_tokens": 3, "num_completion_tokens": 1},
}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OPEN: dict[str, Any] = {
    "items": [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        make_message("assistant", "Paris"),
    ],
    "usage": {"num_prompt_tokens": 3},
}


def test_a_completion_is_read_both_ways_at_every_level_and_keeps_more_fields() -> None:
    made: Any = wrap_output(CHAT)

    assert [kind.__name__ for kind in type(made).__mro__[:2]] == [
        "RAGCompletionOutput",
        "ChatCompletionModelOutput",
    ]
    assert made.choices[0].message.content == made["choices"][0]["message"]["content"] == "Paris"
    assert made.choices[0].message.role == "assistant"
    assert made.choices[0].message.refusal is None
    assert made.choices[0].message["refusal"] is None
    assert made.usage.num_prompt_tokens == 3
    assert made.choices[0].references[0].content.startswith("France")
    assert made.id == "abc"
    assert str(made.choices[0].message) == "Paris"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param(CHAT, "Paris", id="chat"),
        pytest.param(OPEN, "Paris", id="open responses"),
        pytest.param({"choices": []}, "", id="no choice"),
        pytest.param(
            {"choices": [{"message": {"role": "assistant", "content": None, "refusal": "no"}}]},
            "no",
            id="a refusal",
        ),
        pytest.param(
            {
                "choices": [
                    {"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}
                ]
            },
            "",
            id="a call without a word",
        ),
        pytest.param({"label": "ä", "n": 1}, '{"label": "ä", "n": 1}', id="custom"),
        pytest.param({"choices": ["A", "B"]}, '{"choices": ["A", "B"]}', id="choices of others"),
        pytest.param({"items": [1]}, '{"items": [1]}', id="items of others"),
        pytest.param([{"a": True}], '[{"a": true}]', id="an array"),
        pytest.param("text", "text", id="text"),
        pytest.param({"embeddings": [[0.5]]}, '{"embeddings": [[0.5]]}', id="embeddings"),
    ],
)
def test_an_output_prints_as_the_answers_text(raw: Any, text: str) -> None:
    assert str(wrap_output(raw)) == text


def test_an_open_response_has_its_items_and_is_still_a_dict() -> None:
    made: Any = wrap_output(OPEN)

    assert type(wrap_output(OPEN)) is OpenResponse
    assert [one.type for one in made.items] == ["function_call", "message"]
    assert dict(made.items())["usage"] == {"num_prompt_tokens": 3}
    assert json.loads(json.dumps(made)) == OPEN
    assert made.to_json() == OPEN


def test_the_old_view_of_an_open_response_is_a_completion() -> None:
    seen = old_view(wrap_output({**OPEN, "references": [{"content": "r"}]}))

    assert seen.choices[0].message.content == "Paris"
    assert seen.choices[0].references[0].content == "r"
    assert seen.usage.num_prompt_tokens == 3
    silent = old_view(wrap_output({"items": OPEN["items"][:1]}))
    assert silent.choices[0].message.content is None
    assert silent.usage is None


def test_embeddings_and_custom_outputs_are_read_both_ways() -> None:
    assert wrap_output({"embeddings": [[1.0, 2.0]]}).embeddings[0] == [1.0, 2.0]
    made = wrap_output({"a": {"b": 1}})
    assert type(made) is CustomOutput
    assert made.a.b == made["a"]["b"] == 1
    assert [key for key, _ in made.items()] == ["a"]


@pytest.mark.parametrize(
    ("raw", "types"),
    [
        pytest.param(CHAT, ["message"], id="chat"),
        pytest.param(
            {"choices": [{"message": {"role": "assistant", "content": "w", "tool_calls": [CALL]}}]},
            ["message", "function_call"],
            id="tool calls become calls",
        ),
        pytest.param(OPEN, ["function_call", "message"], id="open responses"),
        pytest.param({"embeddings": [[1.0]]}, [], id="embeddings add nothing"),
        pytest.param({"x": 1}, ["custom_task_output_message"], id="custom"),
        pytest.param("x", ["custom_task_output_message"], id="text of a custom task"),
    ],
)
def test_what_an_output_adds_to_a_trace(raw: Any, types: list[str]) -> None:
    assert [one["type"] for one in output_items(raw)] == types


def test_a_message_makes_the_completion_that_would_have_given_it() -> None:
    made = completion_of({"role": "assistant", "content": "hi", "references": [{"content": "r"}]})

    assert made.choices[0].message == {"role": "assistant", "content": "hi"}
    assert made.choices[0].references[0].content == "r"


def test_a_refusal_stands_beside_the_text_of_an_old_message() -> None:
    parts = [{"type": "refusal", "refusal": "no"}]

    assert old_message({"role": "assistant", "content": parts}) == {
        "role": "assistant",
        "content": None,
        "refusal": "no",
    }


def test_the_text_of_an_output_without_a_message_is_none() -> None:
    assert answer_text({"x": 1}) is None
    assert answer_text({"items": [make_message("user", "q")]}) is None
    assert (
        answer_text({"items": [make_message("assistant", "a"), make_message("user", "q")]}) == "a"
    )
    assert answer_text(CHAT) == "Paris"


@pytest.mark.parametrize("content", [None, "", []])
def test_the_text_of_a_refusal_is_its_words(content: Any) -> None:
    raw = {"choices": [{"message": {"role": "assistant", "content": content, "refusal": "no"}}]}

    assert answer_text(raw) == str(wrap_output(raw)) == "no"
    assert wrap_output(raw).choices[0].message.refusal == "no"


def test_the_text_of_an_empty_answer_is_empty() -> None:
    raw = {"choices": [{"message": {"role": "assistant", "content": ""}}]}

    assert answer_text(raw) == str(wrap_output(raw)) == ""
