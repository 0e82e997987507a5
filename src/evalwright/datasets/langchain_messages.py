"""Convert LangChain messages, and inputs and outputs of any form, to items of a trace.

    {"type": "human", "content": "…"}                                        LangGraph
    {"type": "human", "data": {"content": "…"}}                              older
    {"lc": 1, "type": "constructor", "id": […, "HumanMessage"], "kwargs": {"content": "…"}}
    {"role": "user", "content": "…"}                                         OpenAI
    ["human", "…"]

Inputs without messages become text: the only value, or the value of a common key (`input`,
`question` …). Anything else becomes JSON.
"""

import json
from collections.abc import Mapping
from typing import Any

from evalwright.datasets.recorded import Item, convert_messages

_ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("ai", "assistant"), "assistant"),
    **{name: name for name in ("system", "developer", "tool", "function")},
}
_INPUT_KEYS = ("input", "question", "query", "prompt", "text", "content", "user_input")
_OUTPUT_KEYS = ("output", "answer", "result", "response", "text", "content", "completion")


def read_conversation(inputs: Any, outputs: Any) -> list[Item]:
    """Return the items of a run; ValueError names an invalid message.

    If the outputs repeat the messages of the inputs, as LangGraph's do, these are not added twice.
    """
    questions = _find_messages(inputs)
    if questions is None:
        text = _find_text(inputs, _INPUT_KEYS)
        questions = [{"role": "user", "content": text}] if text else []
    answered = _find_messages(outputs)
    if answered is None:
        text = _find_text(outputs, _OUTPUT_KEYS)
        answered = [{"role": "assistant", "content": text}] if text else []
    if _begins_with(answered, questions):
        return convert_messages(answered)
    return convert_messages([*questions, *answered])


def _find_messages(value: Any) -> list[dict[str, Any]] | None:
    """Return the messages in inputs or outputs; None if there are none."""
    if isinstance(value, list):
        while len(value) == 1 and isinstance(value[0], list) and not _is_pair(value[0]):
            value = value[0]  # a batch with one entry
        is_chat = bool(value) and all(_is_message(message) for message in value)
        return [_read_message(message) for message in value] if is_chat else None
    if not isinstance(value, Mapping):
        return None
    if isinstance(choices := value.get("choices"), list) and choices:
        first = choices[0] if isinstance(choices[0], Mapping) else {}
        return _find_messages([first.get("message")])
    if isinstance(generations := value.get("generations"), list):
        return _read_generations(generations)
    if _is_message(value):
        return [_read_message(value)]
    for name in ("messages", "message", "input", "output", "chat_history"):
        inner = value.get(name)
        listed = [inner] if isinstance(inner, Mapping) else inner
        if isinstance(listed, list) and (messages := _find_messages(listed)) is not None:
            return messages
    return None


def _read_generations(generations: list[Any]) -> list[dict[str, Any]] | None:
    while generations and isinstance(generations[0], list):
        generations = generations[0]
    if not generations or not isinstance(generations[0], Mapping):
        return None
    first = generations[0]
    if _is_message(message := first.get("message")):
        return [_read_message(message)]
    text = first.get("text")
    return [{"role": "assistant", "content": text}] if isinstance(text, str) else None


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2  # noqa: PLR2004 - role and text
        and isinstance(value[0], str)
        and value[0] in _ROLES
    )


def _is_message(value: Any) -> bool:
    return _is_pair(value) or (isinstance(value, Mapping) and _find_role(value) is not None)


def _find_role(message: Mapping[str, Any]) -> str | None:
    name = message.get("role", message.get("type"))
    if name == "constructor" and isinstance(id_ := message.get("id"), list) and id_:
        name = str(id_[-1])
    plain = str(name).removesuffix("Chunk").removesuffix("Message").lower()
    return _ROLES.get(plain)


def _read_message(message: Any) -> dict[str, Any]:
    if _is_pair(message):
        return {"role": _ROLES[message[0]], "content": message[1]}
    role = _find_role(message)
    fields = message.get("kwargs", message.get("data", message))
    fields = fields if isinstance(fields, Mapping) else {}
    extra = fields.get("additional_kwargs")
    extra = extra if isinstance(extra, Mapping) else {}
    calls = fields.get("tool_calls") or extra.get("tool_calls") or []
    content = fields.get("content")
    if calls and isinstance(content, list):  # Anthropic's parts repeat the same calls
        content = [
            part
            for part in content
            if not (isinstance(part, Mapping) and part.get("type") == "tool_use")
        ]
    read: dict[str, Any] = {"role": role, "content": content}
    if isinstance(calls, list) and calls:
        read["tool_calls"] = [_read_call(call) for call in calls]
    for name in ("tool_call_id", "refusal", "function_call", "reasoning_content"):
        if (value := fields.get(name, extra.get(name))) is not None:
            read[name] = value
    if fields.get("status") == "error":
        read["error"] = "the tool failed"
    return read


def _read_call(call: Any) -> Any:
    if isinstance(call, Mapping) and "args" in call:
        return {"id": call.get("id"), "name": call.get("name"), "arguments": call["args"]}
    return call


def _find_text(value: Any, keys: tuple[str, ...]) -> str:
    if isinstance(value, str):
        return value
    if value in (None, [], {}):
        return ""
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    texts = [value[key] for key in keys if isinstance(value.get(key), str)]
    if texts:
        return str(texts[0])
    if len(value) == 1 and isinstance(text_value := next(iter(value.values())), str):
        return text_value
    return json.dumps(dict(value), ensure_ascii=False)


def _begins_with(messages: list[dict[str, Any]], start: list[dict[str, Any]]) -> bool:
    def brief(message: dict[str, Any]) -> tuple[Any, Any]:
        return message["role"], message["content"]

    return bool(start) and [*map(brief, messages[: len(start)])] == [*map(brief, start)]
