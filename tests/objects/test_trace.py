from typing import Any

import pytest

from evalwright.objects.items import FunctionCall, FunctionCallOutput, Message, make_message
from evalwright.objects.trace import Trace, Turn

CALL = FunctionCall(call_id="c1", name="search", arguments='{"q": "x"}')
LOST = FunctionCall(call_id="c2", name="search", arguments="")
FOUND = FunctionCallOutput(call_id="c1", output="42")
TRACE = Trace.from_items(
    [
        make_message("system", "be brief"),
        make_message("assistant", "welcome"),
        make_message("user", "first"),
        CALL,
        FOUND,
        make_message("assistant", "one"),
        make_message("user", "second"),
        LOST,
        make_message("system", "late"),
        make_message("assistant", "two"),
    ]
)


def test_the_preamble_is_what_stands_before_the_first_user_message() -> None:
    assert [one.text for one in TRACE.preamble if isinstance(one, Message)] == [
        "be brief",
        "welcome",
    ]
    assert len(TRACE.preamble) + len(TRACE.conversation_items) == len(TRACE.items)
    assert [one.text for one in TRACE.system_messages] == ["be brief"]


def test_without_a_user_message_all_is_preamble() -> None:
    trace = Trace([make_message("assistant", "hello")])

    assert trace.preamble == trace.items
    assert trace.conversation_items == trace.turns == trace.assistant_messages == []
    assert trace.get_last_assistant_text() == "hello"


def test_messages_and_calls_leave_the_preamble_out() -> None:
    assert [one.text for one in TRACE.assistant_messages] == ["one", "two"]
    assert [one.text for one in TRACE.user_messages] == ["first", "second"]
    assert TRACE.function_calls == [CALL, LOST]
    assert TRACE.function_outputs == [FOUND]


def test_a_turn_is_a_user_message_and_what_follows() -> None:
    first, second = TRACE.turns

    assert (first.user_message.text, second.user_message.text) == ("first", "second")
    assert first.assistant_items[0] == CALL
    assert [one.text for one in first.assistant_messages] == ["one"]
    assert first.function_calls == [CALL]
    assert first.function_outputs == [FOUND]
    assert first.function_call_pairs == [(CALL, FOUND)]
    assert second.function_call_pairs == [(LOST, None)]
    assert second["user_message"] is second.user_message
    assert Turn(Message(role="user", content="q"), []).assistant_items == []


def test_calls_are_found_by_name_and_by_id() -> None:
    assert TRACE.get_function_calls_by_name("search") == [CALL, LOST]
    assert TRACE.get_function_calls_by_name("fetch") == []
    assert TRACE.get_function_output_for_call("c1") == FOUND
    assert TRACE.get_function_output_for_call("c2") is None
    assert TRACE.get_function_call_pairs() == [(CALL, FOUND), (LOST, None)]


def test_texts_are_found_or_none() -> None:
    assert TRACE.get_last_assistant_text() == "two"
    assert TRACE.get_last_user_text() == "second"
    assert TRACE.get_first_system_prompt() == "be brief"
    empty = Trace()
    assert empty.get_last_assistant_text() is None
    assert empty.get_last_user_text() is None
    assert empty.get_first_system_prompt() is None


def test_arguments_and_outputs_are_read() -> None:
    assert TRACE.get_function_call_arguments(CALL) == {"q": "x"}
    assert TRACE.get_function_call_arguments(LOST) == {}
    assert TRACE.get_function_call_arguments({"arguments": {"a": 1}}) == {"a": 1}
    assert TRACE.get_function_output_text(FOUND) == "42"
    parts = FunctionCallOutput(call_id="c1", output=[{"type": "input_text", "text": "a"}])
    assert TRACE.get_function_output_text(parts) == "a"
    assert TRACE.get_function_output_text({"output": {"a": 1}}) == '{"a": 1}'


@pytest.mark.parametrize("arguments", ["{", "[1]", 3])
def test_arguments_that_are_no_object_are_an_error(arguments: object) -> None:
    with pytest.raises(ValueError, match=r"expected|Expecting"):
        TRACE.get_function_call_arguments({"arguments": arguments})


def test_what_is_known_beside_the_items_is_kept() -> None:
    trace: Any = Trace([], metadata={"agent": "a", "extra": {"x": 1}}, events=[], span_id="s")

    assert trace.metadata.agent == "a"
    assert trace.metadata.extra.x == 1
    assert trace.metadata.total_tokens is None
    assert trace.to_json() == {
        "items": [],
        "metadata": {"agent": "a", "extra": {"x": 1}},
        "events": [],
        "span_id": "s",
    }
    assert Trace().to_json() == {"items": []}
    assert Trace.FORMAT == "open_responses"
    assert trace["span_id"] == "s"
    with pytest.raises(ValueError, match="Trace: unknown field `spam`"):
        Trace([], spam=1)


def test_items_may_be_replaced() -> None:
    trace: Any = Trace([make_message("user", "a")])

    trace.items = [{"role": "user", "content": "b"}]

    assert trace.get_last_user_text() == "b"
