"""What an adapter's JSON amounts to: one of the shapes that a model may answer in.

    {"choices": [{"message": {"role": "assistant", "content": "4"}}], "usage": {…}}   chat
    the same, with "references": [{"content": "…"}] in a choice                       RAG
    {"items": [{"type": "message", "role": "assistant", "content": […]}], …}          open responses
    {"embeddings": [[0.1, 0.2]], "usage": {…}}, or OpenAI's {"data": [{"embedding"…   embeddings
    anything                                                                          custom

Tokens are counted as `num_prompt_tokens` and `num_completion_tokens`; the names that other APIs
give them are understood too. A top-level `error` that says something is a failed call, whatever
the status was. The output itself is kept where there is more in it than a text.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.clients import answers
from evalwright.clients.answers import one_line
from evalwright.clients.openai import FINISHES, Choice, call_of, text_of
from evalwright.clients.statuses import is_retryable, words
from evalwright.errors import ModelError
from evalwright.types import Completion, Finish, MLTask, Usage

_PROMPT = ("num_prompt_tokens", "prompt_tokens", "input_tokens")
_COMPLETION = ("num_completion_tokens", "completion_tokens", "output_tokens")
_PLAIN = {
    "output": {"choices", "usage", "id", "object", "created", "model", "system_fingerprint"},
    "choice": {"message", "index", "finish_reason", "logprobs"},
    "message": {"role", "content"},
    "item": {"type", "id", "status", "role", "content"},
    "part": {"type", "text"},
}
"""What adds nothing to a text; a key whose value is empty never does."""


class Chosen(Struct, frozen=True):
    """A chat completion, as far as it is needed."""

    choices: list[Choice]


class Vector(Struct, frozen=True):
    """One embedding, as OpenAI gives it."""

    embedding: list[float]
    index: int = 0


class Vectors(Struct, frozen=True):
    """All of them, in either shape."""

    embeddings: list[list[float]] | None = None
    data: list[Vector] | None = None


def completion_of(
    output: Any,
    task: MLTask,
    *,
    clean: Callable[[str], str] = str,
    texts: int | None = None,
    takes_all: bool = False,
) -> Completion:
    """The completion that is in the JSON; `texts` is how many were to be embedded."""
    if isinstance(output, dict) and output.get("error"):
        raise _error(output["error"], clean)
    if task == "custom":
        text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        return Completion(text=text, output=output, usage=_usage(output))
    if not isinstance(output, dict):
        raise _shape(task, f"got `{type(output).__name__}`")
    if task == "embeddings":
        return _embedded(output, texts)
    if isinstance(output.get("items"), list):
        return _responses(output, clean, takes_all=takes_all)
    return _chat(output, clean, takes_all=takes_all)


def _chat(output: dict[str, Any], clean: Callable[[str], str], *, takes_all: bool) -> Completion:
    try:
        reply = msgspec.convert(output, Chosen)
    except msgspec.ValidationError as error:
        raise _shape("chat_completion", one_line(clean(str(error)))) from None
    if not reply.choices:
        raise ModelError("empty", "the reply has no choices")
    choice = reply.choices[0]
    text = text_of(choice.message)
    if (words := choice.message.refusal) and not takes_all:
        raise answers.refused(clean(words))
    if choice.finish_reason == "content_filter" and not words:
        raise answers.filtered()
    found = Completion(
        text=text or words or "",
        finish=FINISHES.get(choice.finish_reason or "stop", "other"),
        usage=_usage(output),
        output=None if _is_plain_chat(output) else _kept(output),
    )
    calls = map(call_of, choice.message.tool_calls or ())
    return answers.answer(found, calls=calls, takes_all=takes_all)


def _responses(
    output: dict[str, Any], clean: Callable[[str], str], *, takes_all: bool
) -> Completion:
    items = [item for item in output["items"] if isinstance(item, dict)]
    said = [one for one in items if _is_message(one) and one.get("role", "assistant") != "user"]
    parts = _parts(said[-1]) if said else []
    words = "\n".join(str(part["refusal"]) for part in parts if part.get("refusal"))
    if words and not takes_all:
        raise answers.refused(clean(words))
    why = output.get("incomplete_details")
    reason = why.get("reason") if isinstance(why, dict) else None
    if reason == "content_filter" and not words:
        raise answers.filtered()
    cut = reason is not None or bool(said and said[-1].get("status") == "incomplete")
    finish: Finish = "length" if cut else "stop"
    text = "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))
    found = Completion(
        text=text or words,
        finish=finish,
        usage=_usage(output),
        output=None if not items or _is_plain_items(output) else _kept(output),
    )
    calls = [
        answers.Call(str(item.get("name", "")), answers.parsed(item.get("arguments")))
        for item in items
        if item.get("type") == "function_call"
    ]
    return answers.answer(found, calls=calls, takes_all=takes_all)


def _embedded(output: dict[str, Any], texts: int | None) -> Completion:
    try:
        found = msgspec.convert(output, Vectors)
    except msgspec.ValidationError as error:
        raise _shape("embeddings", str(error)) from None
    vectors = found.embeddings
    if vectors is None and found.data is not None:
        vectors = [one.embedding for one in sorted(found.data, key=lambda one: one.index)]
    if vectors is None:
        raise _shape("embeddings", "there are no `embeddings`")
    if texts is not None and len(vectors) != texts:
        raise ModelError(
            "wrong_shape", f"expected {texts} embeddings, one a text, got {len(vectors)}"
        )
    usage = _usage(output)
    return Completion(
        text="", usage=usage, output={"embeddings": vectors, "usage": answers.counted(usage)}
    )


def _usage(output: Any) -> Usage:
    given = output.get("usage") if isinstance(output, dict) else None
    if not isinstance(given, dict):
        return Usage(requests=1)
    return answers.usage(_tokens(given, _PROMPT), _tokens(given, _COMPLETION))


def _tokens(given: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        found = given.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= 2**53:
            return found
    return 0


def _kept(output: dict[str, Any]) -> dict[str, Any]:
    given = output.get("usage")
    told = given if isinstance(given, dict) else {}
    return {**output, "usage": {**told, **answers.counted(_usage(output))}}


def _is_plain_chat(output: dict[str, Any]) -> bool:
    choices: list[Any] = output["choices"]
    return (
        len(choices) == 1
        and _adds_nothing(output, "output")
        and _adds_nothing(choices[0], "choice")
        and _adds_nothing(choices[0]["message"], "message")
        and not isinstance(choices[0]["message"].get("content"), list)
    )


def _is_plain_items(output: dict[str, Any]) -> bool:
    items: list[Any] = output["items"]
    return (
        set(output) <= {"items", "usage"}
        and len(items) == 1
        and isinstance(items[0], dict)
        and _adds_nothing(items[0], "item")
        and all(_adds_nothing(part, "part") for part in _parts(items[0]))
    )


def _adds_nothing(found: dict[str, Any], what: str) -> bool:
    known = _PLAIN[what]
    if found.get("references") == []:  # nothing found is something else than nothing said
        return False
    return all(name in known or value in (None, [], {}, "") for name, value in found.items())


def _is_message(item: dict[str, Any]) -> bool:
    return bool(item.get("type", "message") == "message")


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}]
    return [part for part in content or () if isinstance(part, dict)]


def _error(error: Any, clean: Callable[[str], str]) -> ModelError:
    code = error.get("code") if isinstance(error, dict) else None
    said = one_line(clean(words(error))) or "it says no more"
    return ModelError(
        "error_object",
        f"the output is an error: {said}",
        retryable=isinstance(code, int) and is_retryable(code),
    )


def _shape(task: MLTask, found: str) -> ModelError:
    shape = '{"embeddings": [[…]]}' if task == "embeddings" else '{"choices": [{"message": …}]}'
    return ModelError(
        "wrong_shape",
        f"expected an output like {shape}: {found}",
        hint="an adapter's `process_output` can put the reply into that shape",
    )
