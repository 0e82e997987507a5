"""Convert well-formed replies to completions or failures.

    refused     the model declined
    filtered    the provider withheld or shortened the reply
    truncated   the token limit was reached before any text (with text, the reply is an answer
                whose `finish` is `length`)
    empty       there is no text and no tool call

If the request accepts all replies, refusals and empty replies are answers. A reply that only calls
tools is also an answer. Its text is the calls as JSON: `[{"name": "add", "arguments": {"a": 1}}]`.

`parse_completion` reads the JSON of an adapter or of a recorded output, in one of these formats:

    {"choices": [{"message": {"role": "assistant", "content": "4"}}], "usage": {…}}   chat
    the same, with "references": [{"content": "…"}] in a choice                       RAG
    {"items": [{"type": "message", "role": "assistant", "content": […]}], …}          open responses
    {"embeddings": [[0.1, 0.2]], "usage": {…}}, or OpenAI's {"data": [{"embedding"…   embeddings
    anything                                                                          custom

Token counts are `num_prompt_tokens` and `num_completion_tokens`; the names in other APIs are also
supported. A non-empty top-level `error` is a failed call, regardless of the status. The output
itself is kept if it contains more than text.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from evalwright.errors import ModelError
from evalwright.types import Completion, Finish, MLTask, Usage

TokenCount = Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None
"""A token count from a server. Absurdly large counts are invalid."""
FINISHES: dict[str | None, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
_MOST_QUOTED = 200
_PROMPT = ("num_prompt_tokens", "prompt_tokens", "input_tokens")
_COMPLETION = ("num_completion_tokens", "completion_tokens", "output_tokens")
_PLAIN_KEYS = {
    "output": {"choices", "usage", "id", "object", "created", "model", "system_fingerprint"},
    "choice": {"message", "index", "finish_reason", "logprobs"},
    "message": {"role", "content"},
    "item": {"type", "id", "status", "role", "content"},
    "part": {"type", "text"},
}
"""Keys without information beyond the text. Keys with empty values are also ignored."""
RETRYABLE = {408, 409, 429, *range(500, 600)}
"""Statuses after which a retry may succeed."""


class TokenUsage(Struct, frozen=True):
    """Token counts of a reply. Anthropic counts cached tokens separately."""

    input_tokens: TokenCount = 0
    output_tokens: TokenCount = 0
    cache_creation_input_tokens: TokenCount = 0
    cache_read_input_tokens: TokenCount = 0

    @property
    def usage(self) -> Usage:
        """The same counts as a `Usage`."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return make_usage((self.input_tokens or 0) + cached, self.output_tokens)


class _MessagePart(Struct, frozen=True):
    type: str = ""
    text: str | None = None


class _ReplyMessage(Struct, frozen=True):
    content: str | list[_MessagePart] | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [_parse_tool_call(call) for call in self.tool_calls or ()]


class TokenLogprob(Struct, frozen=True, gc=False):
    """The log-probability of one token."""

    logprob: float


class _ChoiceLogprobs(Struct, frozen=True):
    """Log-probabilities in the API's current format or in the older format of some servers."""

    content: list[TokenLogprob] | None = None
    token_logprobs: list[float | None] | None = None

    @property
    def values(self) -> tuple[float, ...] | None:
        """Return one value per token; None if any is missing."""
        if self.content is not None:
            return tuple([token.logprob for token in self.content]) or None
        known = [value for value in self.token_logprobs or () if value is not None]
        return (tuple(known) or None) if len(known) == len(self.token_logprobs or ()) else None


class ChatChoice(Struct, frozen=True):
    """An answer in a chat completion."""

    message: _ReplyMessage
    finish_reason: str | None = None
    logprobs: _ChoiceLogprobs | None = None
    error: Any = None
    references: list[Any] | None = None
    """Texts that the model retrieved."""

    def complete(
        self,
        usage: Usage,
        *,
        paid: Usage | None = None,
        clean: Callable[[str], str] = str,
        takes_all: bool,
    ) -> Completion:
        """Return the completion; `paid` is its share of the usage if there are several choices."""
        message = self.message
        paid = usage if paid is None else paid
        if message.refusal:
            words = clean(message.refusal)
            return accept_refusal(words, text=message.text, usage=paid, takes_all=takes_all)
        if self.finish_reason == "content_filter":
            raise filter_error()
        has_more = message.tool_calls or self.references is not None
        completion = Completion(
            text=message.text,
            finish=FINISHES.get(self.finish_reason, "other"),
            usage=paid,
            logprobs=self.logprobs.values if self.logprobs else None,
            output=self._make_output(usage) if has_more else None,
        )
        return check_completion(completion, calls=message.calls, takes_all=takes_all)

    def _make_output(self, usage: Usage) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.message.text}
        if self.message.tool_calls:
            message["tool_calls"] = self.message.tool_calls
        choice: dict[str, Any] = {"message": message, "finish_reason": self.finish_reason}
        if self.references is not None:  # an empty list differs from a missing key
            choice["references"] = self.references
        return {"choices": [choice], "usage": token_counts(usage)}


class _ChatChoices(Struct, frozen=True):
    choices: list[ChatChoice]


class Embedding(Struct, frozen=True):
    """One embedding, in OpenAI's format."""

    embedding: list[float]
    index: int = 0


class _EmbeddingOutput(Struct, frozen=True):
    embeddings: list[list[float]] | None = None
    data: list[Embedding] | None = None


def make_usage(prompt: int | None, completion: int | None, cost: float | None = None) -> Usage:
    """Return the usage of one request; 0 tokens if the server does not report them."""
    return Usage(
        requests=1, prompt_tokens=prompt or 0, completion_tokens=completion or 0, cost=cost
    )


def token_counts(usage: Usage) -> dict[str, int]:
    """Return the token counts under their documented names."""
    return {
        "num_prompt_tokens": usage.prompt_tokens,
        "num_completion_tokens": usage.completion_tokens,
    }


def check_completion(
    completion: Completion, *, calls: Iterable[dict[str, Any]] = (), takes_all: bool = False
) -> Completion:
    """Return the completion; raise if it is empty. Without text, the tool calls become the text."""
    if completion.text:
        return completion
    if calls := [*calls]:
        text = msgspec.json.encode(calls).decode()
        return msgspec.structs.replace(completion, text=text, finish="tool_calls")
    if completion.finish == "length":
        raise ModelError(
            "truncated",
            "the token limit was reached before the reply had any text",
            hint="increase `max_tokens`, or the equivalent parameter of this API",
        )
    if not takes_all:
        raise ModelError("empty", "the reply has no text")
    return completion


def accept_refusal(words: str, *, text: str = "", usage: Usage, takes_all: bool) -> Completion:
    """Return a refusal as a completion if the request accepts it; otherwise raise."""
    if not takes_all:
        raise refusal_error(words)
    message = {"role": "assistant", "content": text or None, "refusal": words}
    output = {"choices": [{"message": message}], "usage": token_counts(usage)}
    return Completion(text=text or words, usage=usage, output=output)


def refusal_error(words: str) -> ModelError:
    """Return the error for a refusal."""
    quoted = f": {to_one_line(words)}" if words.strip() else ""
    return ModelError("refused", f"the model refused to answer{quoted}")


def filter_error(words: str = "") -> ModelError:
    """Return the error for a reply that the provider's filter withheld."""
    quoted = f": {to_one_line(words)}" if words.strip() else ""
    return ModelError("filtered", f"the provider's content filter withheld the reply{quoted}")


def reported_error(
    error: Any, *, by: str = "the output is", clean: Callable[[str], str]
) -> ModelError:
    """Return the error reported in a reply with a success status; its code may allow a retry."""
    code = error.get("code") if isinstance(error, dict) else None
    message = to_one_line(clean(error_text(error))) or "no details"
    return ModelError(
        "error_object",
        f"{by} an error: {message}",
        retryable=isinstance(code, int) and code in RETRYABLE,
    )


def error_text(error: Any) -> str:
    """Return the message of an error object in any format; it may still contain secrets."""
    if isinstance(error, dict):
        texts = map(
            error_text, map(error.get, ("message", "detail", "error", "msg", "code", "type"))
        )
        return next(filter(None, texts), "")
    if isinstance(error, list):
        return "; ".join(filter(None, map(error_text, error[:3])))
    return str(error) if isinstance(error, str | int) else ""


def make_call(name: Any, arguments: Any) -> dict[str, Any]:
    """Return a tool call; arguments in a JSON string are parsed."""
    if isinstance(arguments, str):
        with suppress(msgspec.DecodeError, RecursionError):
            arguments = msgspec.json.decode(arguments)
    return {"name": str(name), "arguments": arguments}


def to_one_line(text: str, *, most: int = _MOST_QUOTED) -> str:
    """Return the text on one line, without control characters and shortened if too long."""
    start = text[: 4 * most]  # the rest would be cut off anyway
    clean = " ".join("".join(c if c.isprintable() else " " for c in start).split())
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def order_embeddings(embeddings: Iterable[Embedding], texts: int | None) -> list[list[float]]:
    """Return the vectors in the order of their texts."""
    ordered = sorted(embeddings, key=lambda item: item.index)
    return check_embeddings([item.embedding for item in ordered], texts)


def check_embeddings(vectors: list[list[float]], texts: int | None) -> list[list[float]]:
    """Return the vectors; `ModelError` if there is not exactly one per text."""
    if texts is not None and len(vectors) != texts:
        raise ModelError(
            "wrong_shape", f"expected {texts} embeddings, one per string, got {len(vectors)}"
        )
    return vectors


def embedding_completion(vectors: list[list[float]], usage: Usage) -> Completion:
    """Return the completion for an embeddings request."""
    output = {"embeddings": vectors, "usage": token_counts(usage)}
    return Completion(text="", usage=usage, output=output)


def parse_completion(
    output: Any,
    task: MLTask,
    *,
    clean: Callable[[str], str] = str,
    texts: int | None = None,
    takes_all: bool = False,
) -> Completion:
    """Convert JSON to a completion; `texts` is the number of embedded texts."""
    if isinstance(output, dict) and output.get("error"):
        raise reported_error(output["error"], clean=clean)
    if task == "custom":
        text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        return Completion(text=text, output=output, usage=_parse_usage(output))
    if not isinstance(output, dict):
        raise _shape_error(task, f"got `{type(output).__name__}`")
    if task == "embeddings":
        return _parse_embeddings(output, texts)
    if isinstance(output.get("items"), list):
        return _parse_items(output, clean, takes_all=takes_all)
    return _parse_chat(output, clean, takes_all=takes_all)


def _parse_chat(
    output: dict[str, Any], clean: Callable[[str], str], *, takes_all: bool
) -> Completion:
    try:
        reply = msgspec.convert(output, _ChatChoices)
    except msgspec.ValidationError as error:
        raise _shape_error("chat_completion", to_one_line(clean(str(error)))) from None
    if not reply.choices:
        raise ModelError("empty", "the reply has no choices")
    choice = reply.choices[0]
    refusal = choice.message.refusal
    if refusal and not takes_all:
        raise refusal_error(clean(refusal))
    if choice.finish_reason == "content_filter" and not refusal:
        raise filter_error()
    completion = Completion(
        text=choice.message.text or refusal or "",
        finish=FINISHES.get(choice.finish_reason or "stop", "other"),
        usage=_parse_usage(output),
        output=None if _is_plain_chat(output) else _add_token_counts(output),
    )
    return check_completion(completion, calls=choice.message.calls, takes_all=takes_all)


def _parse_items(
    output: dict[str, Any], clean: Callable[[str], str], *, takes_all: bool
) -> Completion:
    items = [item for item in output["items"] if isinstance(item, dict)]
    messages = [
        item
        for item in items
        if item.get("type", "message") == "message" and item.get("role", "assistant") != "user"
    ]
    parts = _message_parts(messages[-1]) if messages else []
    refusal = "\n".join(str(part["refusal"]) for part in parts if part.get("refusal"))
    if refusal and not takes_all:
        raise refusal_error(clean(refusal))
    details = output.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason == "content_filter" and not refusal:
        raise filter_error()
    is_cut = reason is not None or bool(messages and messages[-1].get("status") == "incomplete")
    text = "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))
    completion = Completion(
        text=text or refusal,
        finish="length" if is_cut else "stop",
        usage=_parse_usage(output),
        output=None if not items or _is_plain_items(output) else _add_token_counts(output),
    )
    calls = [
        make_call(item.get("name", ""), item.get("arguments"))
        for item in items
        if item.get("type") == "function_call"
    ]
    return check_completion(completion, calls=calls, takes_all=takes_all)


def _parse_embeddings(output: dict[str, Any], texts: int | None) -> Completion:
    try:
        reply = msgspec.convert(output, _EmbeddingOutput)
    except msgspec.ValidationError as error:
        raise _shape_error("embeddings", str(error)) from None
    if reply.embeddings is not None:
        vectors = check_embeddings(reply.embeddings, texts)
    elif reply.data is not None:
        vectors = order_embeddings(reply.data, texts)
    else:
        raise _shape_error("embeddings", "`embeddings` is missing")
    return embedding_completion(vectors, _parse_usage(output))


def _parse_tool_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function") or call.get("custom")
    if not isinstance(function, dict):
        return make_call("", call)
    return make_call(function.get("name", ""), function.get("arguments", function.get("input")))


def _parse_usage(output: Any) -> Usage:
    usage = output.get("usage") if isinstance(output, dict) else None
    if not isinstance(usage, dict):
        return Usage(requests=1)
    return make_usage(_find_count(usage, _PROMPT), _find_count(usage, _COMPLETION))


def _find_count(usage: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        count = usage.get(name)
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= 2**53:
            return count
    return 0


def _add_token_counts(output: dict[str, Any]) -> dict[str, Any]:
    usage = output.get("usage")
    known = usage if isinstance(usage, dict) else {}
    return {**output, "usage": {**known, **token_counts(_parse_usage(output))}}


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
        and all(_adds_nothing(part, "part") for part in _message_parts(items[0]))
    )


def _adds_nothing(fields: dict[str, Any], what: str) -> bool:
    if fields.get("references") == []:  # an empty list differs from a missing key
        return False
    plain = _PLAIN_KEYS[what]
    return all(name in plain or value in (None, [], {}, "") for name, value in fields.items())


def _message_parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}]
    return [part for part in content or () if isinstance(part, dict)]


def _shape_error(task: MLTask, problem: str) -> ModelError:
    shape = '{"embeddings": [[…]]}' if task == "embeddings" else '{"choices": [{"message": …}]}'
    return ModelError(
        "wrong_shape",
        f"expected an output like {shape}: {problem}",
        hint="use an adapter with `process_output` to convert the reply",
    )
