"""Convert conversations recorded by other tools to traces and rows.

    sample_id    the id of the conversation
    input        the last user message; empty if there is none
    output       the text of the answer, starting after the last user message
    trace        the conversation, for `pass_through_solver`; null without an answer
    error        why the answer is missing; otherwise null
    model        the model that answered; null if unknown
    metadata     other recorded facts about the conversation
    tags         a list of strings
    created_at   when the conversation started

Messages may be in the format of OpenAI's API or of Inspect AI. The text parts of a message are
joined by newlines. Other parts (images, sounds, files) are replaced by a note: `[image left out]`.
Reasoning is a separate item before the message, so it is not part of the answer. Tool calls and
their results are also items.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalwright.objects import text_of

Item = dict[str, Any]
COLUMNS = (
    *("sample_id", "input", "output", "trace", "error", "model"),
    *("metadata", "tags", "created_at"),
)
"""The columns that `make_row` sets."""
CUT_AT_A_CALL = "ends with a tool call: its result and the answer are missing"
_ROLES = ("system", "developer", "user", "assistant")
_TEXTS = {"text", "input_text", "output_text"}
_REASONING = {"reasoning", "thinking", "redacted_thinking"}
_LONGEST_SHOWN = 60


def convert_messages(messages: Iterable[Any]) -> list[Item]:
    """Convert messages to items; ValueError names the first invalid message."""
    items: list[Item] = []
    for number, message in enumerate(messages):
        try:
            items += _split_message(message)
        except ValueError as error:
            raise ValueError(f"messages[{number}]: {error}") from error
    return items


def explain_missing_answer(items: Sequence[Item]) -> str:
    """Explain why the last user message has no answer; empty if it has one.

    A tool result is not an answer; a tool call is.
    """
    for item in reversed(items):
        if item.get("role") == "user":
            break
        if item["type"] == "function_call_output":
            return "ends with a tool result: the answer is missing"
        if item.get("role") == "assistant" or item["type"] == "function_call":
            return ""
    return "a request without an answer: nothing follows the last user message"


def add_empty_answer(items: Sequence[Item]) -> list[Item]:
    """Return the items, and add an empty message if the answer is only a tool call."""
    first = len(items)
    while first and items[first - 1]["type"] == "function_call":
        first -= 1
    has_message = first and items[first - 1].get("role") == "assistant"
    if has_message or first == len(items):
        return list(items)
    content = [_text_part("", "assistant")]
    empty = {"type": "message", "role": "assistant", "content": content}
    return [*items[:first], empty, *items[first:]]


def last_text(items: Sequence[Item], role: str) -> str:
    """Return the text of the last message with this role; empty if there is none."""
    messages = (item for item in reversed(items) if item.get("role") == role)
    return text_of(next(messages, {}).get("content"))


def make_row(
    items: Sequence[Item],
    *,
    sample_id: str,
    source_type: str,
    source_uri: str,
    error: str | None = None,
    metadata: Mapping[str, Any],
    **facts: Any,
) -> Item:
    """Return the row of a conversation; `facts` are additional metadata of the trace.

    A conversation that ends with a tool call is incomplete.
    """
    if not error and items and items[-1]["type"] == "function_call":
        error = CUT_AT_A_CALL
    error = error or explain_missing_answer(items) or None
    trace = make_trace(
        items, trace_id=sample_id, source_type=source_type, source_uri=source_uri, **facts
    )
    return {
        "sample_id": sample_id,
        "input": last_text(items, "user"),
        "output": "" if error else last_text(items, "assistant"),
        "trace": None if error else trace,
        "error": error,
        "model": facts.get("model"),
        "metadata": dict(metadata),
        "tags": facts.get("tags") or [],
        "created_at": facts.get("created_at"),
    }


def make_trace(items: Sequence[Item], *, output: str | None = None, **metadata: Any) -> Item:
    """Return a trace for a column; `output` sets an answer that is not the last message."""
    known = {name: value for name, value in metadata.items() if value is not None}
    trace: Item = {"items": list(items), "metadata": known}
    if output is not None:
        message = {"role": "assistant", "content": output}
        trace["raw_outputs"] = [{"choices": [{"message": message}]}]
    return trace


def _split_message(message: Any) -> Iterator[Item]:
    if not isinstance(message, Mapping):
        raise shape_error("a message", message)
    role = message.get("role")
    if role not in (*_ROLES, "tool", "function"):
        raise shape_error(f"a `role` ({', '.join(_ROLES)} or tool)", role)
    parts = _split_content(message.get("content"))
    if role not in _ROLES:
        yield _make_result(message, parts)
        return
    content = [*_join_content(parts, role)]
    calls = [*_find_used_tools(parts), *_find_calls(message)]
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        content.append({"type": "refusal", "refusal": refusal})
    yield from _find_reasoning(message, parts)
    if content or not calls:
        yield {"type": "message", "role": role, "content": content or [_text_part("", role)]}
    yield from calls


def _split_content(content: Any) -> list[Mapping[str, Any]]:
    if content is None:
        return []
    listed = content if isinstance(content, list) else [content]
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in listed]
    for part in parts:
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise shape_error("text or parts as `content`", content)
    return parts


def _join_content(parts: Iterable[Mapping[str, Any]], role: str) -> Iterator[Item]:
    texts = []
    for part in parts:
        kind, text = part["type"], part.get("text")
        if kind == "refusal" or (kind in _TEXTS and part.get("refusal") is True):
            refusal = part.get("refusal" if text is None else "text")
            yield {"type": "refusal", "refusal": str(refusal)}
        elif kind in _TEXTS:
            if not isinstance(text, str):
                raise shape_error("a string in a part of `content`", text)
            texts.append(text)
        elif kind not in _REASONING | {"tool_use"}:
            plain = kind.removeprefix("input_").removesuffix("_url")  # `image` for `image_url`
            texts.append(f"[{plain} left out]")
    if joined := "\n".join(filter(None, texts)):
        yield _text_part(joined, role)


def _find_reasoning(
    message: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]
) -> Iterator[Item]:
    """Yield the reasoning; some servers send it as `reasoning_content` or `reasoning`."""
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    texts = [reasoning] if isinstance(reasoning, str) else []
    for part in parts:
        if part["type"] in _REASONING:
            hidden = part.get("redacted") is True
            text = part.get("summary") if hidden else part.get("reasoning", part.get("thinking"))
            texts.append(text if isinstance(text, str) and text else "[not shown]")
    yield from ({"type": "reasoning", "content": text} for text in texts)


def _find_used_tools(parts: Iterable[Mapping[str, Any]]) -> Iterator[Item]:
    for part in parts:
        if part["type"] != "tool_use":
            continue
        yield _make_call(part.get("id"), part.get("name"), part.get("arguments", part.get("input")))
        if "result" in part:
            output = str(part.get("error") or part["result"])
            yield {"type": "function_call_output", "call_id": part.get("id"), "output": output}


def _find_calls(message: Mapping[str, Any]) -> Iterator[Item]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list | None):
        raise shape_error("a list of `tool_calls`", calls)
    for call in calls or ():
        if not isinstance(call, Mapping):
            raise shape_error("a call among `tool_calls`", call)
        inner = call.get("function", call.get("custom"))
        if isinstance(inner, Mapping):
            arguments = inner.get("arguments", inner.get("input"))
            yield _make_call(call.get("id"), inner.get("name"), arguments)
        else:
            yield _make_call(call.get("id"), inner or call.get("name"), call.get("arguments"))
    if isinstance(old := message.get("function_call"), Mapping):
        yield _make_call(old.get("name"), old.get("name"), old.get("arguments"))


def _make_call(call_id: Any, name: Any, arguments: Any) -> Item:
    if not isinstance(name, str):
        raise shape_error("a function name in a call", name)
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments or {})
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def _make_result(message: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> Item:
    text = "\n".join(text_of([part]) for part in _join_content(parts, "tool"))
    call_id = message.get("tool_call_id") or message.get("name") or message.get("function")
    item: Item = {"type": "function_call_output", "call_id": call_id, "output": text}
    if error := message.get("error"):
        why = error.get("message") if isinstance(error, Mapping) else error
        item |= {"output": text or str(why), "status": "incomplete"}
    return item


def _text_part(text: str, role: str) -> Item:
    return {"type": "output_text" if role == "assistant" else "input_text", "text": text}


def shape_error(what: str, got: Any) -> ValueError:
    """Return the error for data in a different format."""
    shown = repr(got)
    short = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
    return ValueError(f"expected {what}, got `{short}`")
