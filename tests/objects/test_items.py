from typing import Any

import pytest

from evalwright.objects.items import (
    Content,
    CustomTaskInputMessage,
    CustomTaskOutputMessage,
    FunctionCall,
    FunctionCallOutput,
    Item,
    Items,
    Message,
    UserMessage,
    chat_items,
    item,
    items_from,
    make_message,
    refusal_of,
    text_of,
)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        pytest.param({"type": "message", "role": "user", "content": []}, UserMessage, id="message"),
        pytest.param({"role": "user", "content": "x"}, UserMessage, id="a role makes a message"),
        pytest.param({"role": "developer", "content": "x"}, Message, id="a role without a class"),
        pytest.param({"type": "function_call", "name": "f"}, FunctionCall, id="call"),
        pytest.param({"type": "function_call_output"}, FunctionCallOutput, id="output of a call"),
        pytest.param({"type": "custom_task_input_message"}, CustomTaskInputMessage, id="input"),
        pytest.param({"type": "custom_task_output_message"}, CustomTaskOutputMessage, id="output"),
        pytest.param({"type": "reasoning", "summary": []}, Item, id="any other type is kept"),
    ],
)
def test_the_type_of_an_item_decides_its_class(fields: dict[str, Any], kind: type) -> None:
    assert type(item(fields)) is kind


def test_a_content_given_as_text_is_a_list_of_one_part_and_prints_as_its_text() -> None:
    user: Any = Message(role="user", content="hi")
    assistant: Any = Message(role="assistant", content="yo")

    assert user.content == [{"type": "input_text", "text": "hi"}]
    assert assistant.content[0].type == "output_text"
    assert str(user.content) == user.text == f"{user.content}" == "hi"
    assert "h" in user.content
    assert {"type": "input_text", "text": "hi"} in user.content
    assert user.to_json()["content"] == [{"type": "input_text", "text": "hi"}]
    assert user.type == "message"
    assert user.id is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("plain", "plain", id="text"),
        pytest.param(None, "", id="none"),
        pytest.param([], "", id="no part"),
        pytest.param(["a", {"type": "text", "text": "b"}], "a\nb", id="parts, one a line"),
        pytest.param([{"type": "refusal", "refusal": "no"}], "no", id="a refusal alone"),
        pytest.param(
            [{"type": "refusal", "refusal": "no"}, {"type": "output_text", "text": "yes"}],
            "yes",
            id="text before refusals",
        ),
        pytest.param([{"type": "input_image", "image_url": "u"}, 3], "", id="no text in an image"),
    ],
)
def test_the_text_of_a_content(content: Any, text: str) -> None:
    assert text_of(content) == text


def test_refusals_are_found_beside_the_text() -> None:
    assert refusal_of([{"type": "refusal", "refusal": "no"}]) == "no"
    assert refusal_of([{"type": "output_text", "text": "no"}]) is None
    assert refusal_of("no") is None


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            {"role": "assistant", "content": "hi"},
            [make_message("assistant", "hi")],
            id="a message",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
            id="calls without a word",
        ),
        pytest.param(
            {"role": "assistant", "content": "w", "tool_calls": [{"name": "f", "arguments": {}}]},
            [
                make_message("assistant", "w"),
                {"type": "function_call", "call_id": None, "name": "f", "arguments": "{}"},
            ],
            id="words, then calls",
        ),
        pytest.param(
            {"role": "tool", "tool_call_id": "c", "content": "42"},
            [{"type": "function_call_output", "call_id": "c", "output": "42"}],
            id="what a tool gave back",
        ),
        pytest.param(
            {"role": "assistant", "content": None, "refusal": "no"},
            [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "refusal", "refusal": "no"}],
                }
            ],
            id="a refusal",
        ),
    ],
)
def test_a_message_of_a_chat_becomes_items(
    message: dict[str, Any], expected: list[dict[str, Any]]
) -> None:
    assert chat_items(message) == expected


def test_items_are_appended_from_any_shape() -> None:
    items = Items()

    items.append({"role": "user", "content": "q"})
    items.extend(
        [{"role": "tool", "tool_call_id": "c", "content": "1"}, Message(role="system", content="s")]
    )

    assert [type(one) for one in items] == [UserMessage, FunctionCallOutput, Message]


@pytest.mark.parametrize(
    ("wrong", "said_so"),
    [
        pytest.param(["text"], "expected an item or a message, got `'text'`", id="text"),
        pytest.param([{"content": "x"}], "expected a `type` or a `role`", id="neither"),
        pytest.param([list(range(100))], "…", id="cut when long"),
    ],
)
def test_what_is_no_item_is_refused(wrong: list[Any], said_so: str) -> None:
    with pytest.raises(ValueError, match=said_so):
        items_from(wrong)


def test_an_empty_content_prints_as_nothing() -> None:
    assert str(Content()) == ""
    assert item({"role": "user"}).text == ""


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "refusal": "nope"},
        {"role": "assistant", "content": "", "refusal": "nope"},
        {"type": "message", "role": "assistant", "refusal": "nope"},
    ],
)
def test_the_refusal_of_a_chat_message_is_its_text(message: dict[str, Any]) -> None:
    (made,) = items_from([message])

    assert isinstance(made, Message)
    assert made.text == "nope"
    assert refusal_of(made.content) == "nope"


def test_a_refusal_that_is_null_changes_nothing() -> None:
    fields = {"type": "message", "id": "m1", "role": "assistant", "content": "", "refusal": None}

    assert items_from([fields])[0]["id"] == "m1"
