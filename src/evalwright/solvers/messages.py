"""From the items of a trace to the messages that a chat model is sent.

A call of a function belongs to what the assistant said before it. What a model can not be sent
(an image, reasoning that is not text) is left out where it is the model's own, and else an error.
"""

from collections.abc import Iterable
from typing import Any, Literal, cast

from evalwright.objects import text_of
from evalwright.types import Called, Message, ToolCall

Role = Literal["system", "user", "assistant"]
ROLES = ("system", "user", "assistant")

_TEXTS = {"input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text"}


def messages_of(items: Iterable[dict[str, Any]]) -> tuple[Message, ...]:
    """Every item that a chat has a message for, in order."""
    made: list[Message] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            made.append(Message(role_of(item.get("role")), _text(item)))
        elif kind == "function_call":
            made.append(_with_call(made, item))
        elif kind == "function_call_output":
            told = _text({"content": item.get("output")})
            made.append(Message("tool", told, tool_call_id=str(item.get("call_id") or "")))
        elif kind == "custom_task_input_message":
            raise ValueError("expected messages, got the input of a custom task in a chat")
    if not made:
        raise ValueError("expected at least one message to send, got none")
    return tuple(made)


def role_of(role: Any) -> Role:
    """The role if it is one; `developer` is a system by another name."""
    if role == "developer":
        return "system"
    if role not in ROLES:
        raise ValueError(f"expected `system`, `user` or `assistant` as a role, got `{role}`")
    return cast("Role", role)


def _with_call(made: list[Message], item: dict[str, Any]) -> Message:
    call = ToolCall(
        str(item.get("call_id") or ""),
        Called(str(item.get("name") or ""), str(item.get("arguments") or "{}")),
    )
    if made and made[-1].role == "assistant":
        last = made.pop()
        return Message("assistant", last.content, tool_calls=(*last.tool_calls, call))
    return Message("assistant", "", tool_calls=(call,))


def _text(item: dict[str, Any]) -> str:
    content = item.get("content")
    if isinstance(content, list):
        for part in content:
            kind = "text" if isinstance(part, str) else part.get("type")
            if kind not in _TEXTS:
                raise ValueError(f"expected text as the content of a message, got `{kind}`")
    return text_of(content)
