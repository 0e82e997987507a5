"""Conversations that other tools have recorded, as the items of a trace.

Messages of a chat are taken as OpenAI's API has them and as Inspect AI writes them. Texts of one
message are joined by newlines. What is no text (an image, a sound, a file) is left out, and the
message says so: `[image left out]`. Reasoning is an item of its own, before what was said, so it is
no part of the answer. Calls of tools, and what the tools gave back, are items too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalwright.objects import text_of

Item = dict[str, Any]
_ROLES = ("system", "developer", "user", "assistant")
_TEXTS = {"text", "input_text", "output_text"}
_REASONING = {"reasoning", "thinking", "redacted_thinking"}
_LONGEST_SHOWN = 60


def items_of(messages: Iterable[Any]) -> list[Item]:
    """The items that messages stand for; ValueError says which of them is none."""
    items: list[Item] = []
    for number, message in enumerate(messages):
        try:
            items += _items(message)
        except ValueError as error:
            raise ValueError(f"messages[{number}]: {error}") from error
    return items


def unanswered(items: Sequence[Item]) -> str:
    """Why nothing answers the last that a user has said; empty where something does.

    What an assistant said before that is no answer to it. Nor is what a tool gave back, after which
    the assistant should have said something; a call of a tool may be all that was wanted.
    """
    for item in reversed(items):
        if item.get("role") == "user":
            break
        if item["type"] == "function_call_output":
            return "cut after a tool's result: the answer that should follow is not there"
        if item.get("role") == "assistant" or item["type"] == "function_call":
            return ""
    return "a request without an answer: nothing follows what the user said"


def answering(items: Sequence[Item]) -> list[Item]:
    """The same; where the answer is only a call of a tool, it says nothing, in a message."""
    first = len(items)
    while first and items[first - 1]["type"] == "function_call":
        first -= 1
    said = first and items[first - 1].get("role") == "assistant"
    if said or first == len(items):
        return list(items)
    nothing: Item = {
        "type": "message",
        "role": "assistant",
        "content": [_text("", "assistant")],
    }
    return [*items[:first], nothing, *items[first:]]


def last_text(items: Sequence[Item], role: str) -> str:
    """What somebody said last; empty where that is nothing."""
    said = (one for one in reversed(items) if one.get("role") == role)
    return text_of(next(said, {}).get("content"))


def trace_of(items: Sequence[Item], *, output: str | None = None, **metadata: Any) -> Item:
    """A trace as a column holds it; `output` where the answer is not what was said last."""
    told = {name: value for name, value in metadata.items() if value is not None}
    trace: Item = {"items": list(items), "metadata": told}
    if output is not None:
        message = {"role": "assistant", "content": output}
        trace["raw_outputs"] = [{"choices": [{"message": message}]}]
    return trace


def _items(message: Any) -> Iterator[Item]:
    if not isinstance(message, Mapping):
        raise expected("a message", message)
    role = message.get("role")
    if not isinstance(role, str):
        raise expected(f"a `role` ({', '.join(_ROLES)} or tool)", role)
    parts = _parts(message.get("content"))
    if role in {"tool", "function"}:
        yield _given_back(message, parts)
        return
    if role not in _ROLES:
        raise expected(f"a `role` ({', '.join(_ROLES)} or tool)", role)
    said, calls = [*_said(parts, role)], [*_used(parts), *_calls(message)]
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        said.append({"type": "refusal", "refusal": refusal})
    yield from _thought(message, parts)
    if said or not calls:
        yield {"type": "message", "role": role, "content": said or [_text("", role)]}
    yield from calls


def _parts(content: Any) -> list[Mapping[str, Any]]:
    if content is None:
        return []
    listed = content if isinstance(content, list) else [content]
    parts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in listed]
    for part in parts:
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise expected("text or parts as `content`", content)
    return parts


def _said(parts: Iterable[Mapping[str, Any]], role: str) -> Iterator[Item]:
    """One part with all texts, and one for each refusal."""
    texts = []
    for part in parts:
        kind, text = part["type"], part.get("text")
        if kind == "refusal" or (kind in _TEXTS and part.get("refusal") is True):
            yield {
                "type": "refusal",
                "refusal": str(part.get("refusal" if text is None else "text")),
            }
        elif kind in _TEXTS:
            texts.append(_checked(text))
        elif kind not in _REASONING | {"tool_use"}:
            texts.append(f"[{_plain(kind)} left out]")
    joined = "\n".join(one for one in texts if one)
    if joined:
        yield _text(joined, role)


def _checked(text: Any) -> str:
    if not isinstance(text, str):
        raise expected("a text in a part of `content`", text)
    return text


def _thought(message: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> Iterator[Item]:
    """Some servers put it beside the content: `reasoning_content`, or `reasoning`."""
    beside = message.get("reasoning_content") or message.get("reasoning")
    texts = [beside] if isinstance(beside, str) else []
    for part in parts:
        if part["type"] in _REASONING:
            hidden = part.get("redacted") is True
            text = part.get("summary") if hidden else part.get("reasoning", part.get("thinking"))
            texts.append(text if isinstance(text, str) and text else "[not shown]")
    yield from ({"type": "reasoning", "content": text} for text in texts)


def _used(parts: Iterable[Mapping[str, Any]]) -> Iterator[Item]:
    """Tools that the server of the model has used itself stand among the content."""
    for part in parts:
        if part["type"] != "tool_use":
            continue
        yield _call(part.get("id"), part.get("name"), part.get("arguments", part.get("input")))
        if "result" in part:
            gave = part.get("error") or part["result"]
            yield {"type": "function_call_output", "call_id": part.get("id"), "output": str(gave)}


def _calls(message: Mapping[str, Any]) -> Iterator[Item]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list | None):
        raise expected("a list of `tool_calls`", calls)
    for call in calls or ():
        if not isinstance(call, Mapping):
            raise expected("a call among `tool_calls`", call)
        inner = call.get("function", call.get("custom"))
        if isinstance(inner, Mapping):
            given = inner.get("arguments", inner.get("input"))
            yield _call(call.get("id"), inner.get("name"), given)
        else:
            yield _call(call.get("id"), inner or call.get("name"), call.get("arguments"))
    if isinstance(old := message.get("function_call"), Mapping):
        yield _call(old.get("name"), old.get("name"), old.get("arguments"))


def _call(call_id: Any, name: Any, arguments: Any) -> Item:
    if not isinstance(name, str):
        raise expected("the name of a function in a call", name)
    given = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": given}


def _given_back(message: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> Item:
    """What a tool gave; where it failed, that it did."""
    text = "\n".join(text_of([part]) for part in _said(parts, "tool"))
    call_id = message.get("tool_call_id") or message.get("name") or message.get("function")
    item: Item = {"type": "function_call_output", "call_id": call_id, "output": text}
    if error := message.get("error"):
        why = error.get("message") if isinstance(error, Mapping) else error
        item |= {"output": text or str(why), "status": "incomplete"}
    return item


def _text(text: str, role: str) -> Item:
    return {"type": "output_text" if role == "assistant" else "input_text", "text": text}


def _plain(kind: str) -> str:
    """`image` for `input_image` and `image_url`."""
    return kind.removeprefix("input_").removesuffix("_url")


def expected(what: str, got: Any) -> ValueError:
    """The mistake of data that has another shape."""
    shown = repr(got)
    short = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
    return ValueError(f"expected {what}, got `{short}`")
