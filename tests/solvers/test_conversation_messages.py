from typing import Any

import pytest

from evalwright.objects import make_message
from evalwright.solvers.conversation import build_messages
from evalwright.types import Called, Message, ToolCall

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'}
MADE = ToolCall("c", Called("f", '{"a": 1}'))


@pytest.mark.parametrize(
    ("items", "messages"),
    [
        pytest.param(
            [make_message("system", "s"), make_message("user", "q")],
            [Message("system", "s"), Message("user", "q")],
            id="messages",
        ),
        pytest.param([{"role": "user", "content": "q"}], [Message("user", "q")], id="of a chat"),
        pytest.param([make_message("developer", "d")], [Message("system", "d")], id="a developer"),
        pytest.param(
            [make_message("assistant", "w"), CALL, CALL],
            [Message("assistant", "w", tool_calls=(MADE, MADE))],
            id="calls belong to the words before them",
        ),
        pytest.param(
            [make_message("user", "q"), CALL],
            [Message("user", "q"), Message("assistant", "", tool_calls=(MADE,))],
            id="a call without words",
        ),
        pytest.param(
            [{"type": "function_call_output", "call_id": "c", "output": ["1", "2"]}],
            [Message("tool", "1\n2", tool_call_id="c")],
            id="what a call gave",
        ),
        pytest.param(
            [{"type": "reasoning", "summary": []}, make_message("user", "q")],
            [Message("user", "q")],
            id="reasoning is left out",
        ),
    ],
)
def test_items_become_messages(items: list[dict[str, Any]], messages: list[Message]) -> None:
    assert build_messages(items) == tuple(messages)


@pytest.mark.parametrize(
    ("items", "said_so"),
    [
        pytest.param([], "at least one message", id="nothing"),
        pytest.param([make_message("bot", "x")], "as a role, got `bot`", id="a role"),
        pytest.param(
            [{"type": "custom_task_input_message", "content": 1}],
            "got the input of a custom task",
            id="another task",
        ),
        pytest.param(
            [{"type": "message", "role": "user", "content": [{"type": "input_image"}]}],
            "got `input_image`",
            id="an image",
        ),
    ],
)
def test_what_cannot_be_sent_is_said(items: list[dict[str, Any]], said_so: str) -> None:
    with pytest.raises(ValueError, match=said_so):
        build_messages(items)
