"""`anthropic/MODEL`: the messages API of Anthropic.

    -m anthropic/claude-haiku-4-5           ANTHROPIC_API_KEY

`ANTHROPIC_BASE_URL` names another address: what `/v1/messages` is appended to, or `/messages` if it
ends in `/v1`. All that `openai/…` says of keys, proxies and timeouts holds here.

Parameters are sent as they are given; `stop` is sent as `stop_sequences`. The API demands
`max_tokens`: 4096, unless it is given. System messages go where the API wants them. It has no
log-probabilities, no `seed` and no `n`. A task that asks for a JSON schema by `response_format` is
understood: it is sent as `output_config`.
"""

from typing import Any

import msgspec
from msgspec import Struct

from evalwright.clients import replies
from evalwright.clients.http import ApiModel, Endpoint
from evalwright.clients.parameters import Sampling, chat_keys, locate_model
from evalwright.errors import ModelError
from evalwright.types import Completion, Finish, ModelOptions, Request, Usage

API_VERSION = "2023-06-01"
MAX_TOKENS = 4096

_FINISHES: dict[str | None, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}
_NEVER = {
    "model": "it is the model's name",
    "messages": "they are the task's",
    "logprobs": "the messages API has none",
    "top_logprobs": "the messages API has none",
    "n": "the messages API has none; trials are requests of their own",
    "seed": "the messages API has none",
    "response_format": "the messages API has none; see its `output_config`",
}
_NOT_ASKED = {name: why for name, why in _NEVER.items() if name != "response_format"}


class AnthropicParameters(Sampling, frozen=True, kw_only=True):
    """What is known of this API's parameters."""

    max_tokens: int = MAX_TOKENS
    stop: str | list[str] | None = None
    stop_sequences: list[str] | None = None
    system: str | list[dict[str, Any]] | None = None
    thinking: dict[str, Any] | None = None
    tool_choice: dict[str, Any] | None = None


class AnthropicBlock(Struct, frozen=True):
    """A piece of the answer."""

    type: str = ""
    text: str | None = None
    name: str | None = None
    input: Any = None
    id: str | None = None


class AnthropicUsage(Struct, frozen=True):
    """The tokens; what went into or came out of the provider's cache is counted apart."""

    input_tokens: replies.TokenCount = 0
    output_tokens: replies.TokenCount = 0
    cache_creation_input_tokens: replies.TokenCount = 0
    cache_read_input_tokens: replies.TokenCount = 0

    @property
    def prompt_tokens(self) -> int:
        """All that went in."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return (self.input_tokens or 0) + cached


class AnthropicReply(Struct, frozen=True):
    """What comes back, as far as it is needed."""

    content: list[AnthropicBlock]
    stop_reason: str | None = None
    usage: AnthropicUsage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(AnthropicReply)
_encoder = msgspec.json.Encoder()


class Messages(ApiModel):
    """A model behind the messages API."""

    api = "messages"

    async def complete(self, request: Request) -> Completion:
        """Answer one conversation."""
        messages = request.messages
        body = {**self._body, "messages": [item for item in messages if item.role != "system"]}
        if system := "\n\n".join(item.content for item in messages if item.role == "system"):
            body["system"] = system
        if keys := chat_keys(request, never=_NOT_ASKED):
            body.update(_rename_stop(_translate_keys(keys)))
        reply = await self._endpoint.ask(_encoder.encode(body), _decoder)
        if reply.error:
            raise self._endpoint.error_object(reply.error)
        return self._read(reply, takes_all=request.takes_all)

    def _read(self, reply: AnthropicReply, *, takes_all: bool) -> Completion:
        text = "".join(block.text or "" for block in reply.content if block.type == "text")
        counts = reply.usage or AnthropicUsage()
        usage = replies.make_usage(counts.prompt_tokens, counts.output_tokens)
        if reply.stop_reason == "refusal":
            return replies.accept_refusal(
                self._endpoint.clean(text), usage=usage, takes_all=takes_all
            )
        blocks = [block for block in reply.content if block.type == "tool_use"]
        completion = Completion(
            text=text,
            finish=_FINISHES.get(reply.stop_reason, "other"),
            usage=usage,
            output=_make_output(text, blocks, usage) if blocks else None,
        )
        calls = [replies.RequestedCall(block.name or "", block.input) for block in blocks]
        return replies.check_completion(completion, calls=calls, takes_all=takes_all)


def connect(name: str, options: ModelOptions = ModelOptions()) -> Messages:
    """Connect the model of that name."""
    address, parameters, timeouts = locate_model(
        f"anthropic/{name}", "/messages", options, known=AnthropicParameters, never=_NEVER
    )
    headers = {"anthropic-version": API_VERSION}
    if address.key:
        headers["x-api-key"] = address.key
    endpoint = Endpoint(address, headers=headers, timeouts=timeouts)
    return Messages(name, endpoint, _rename_stop({"max_tokens": MAX_TOKENS, **parameters}))


def _make_output(text: str, blocks: list[AnthropicBlock], usage: Usage) -> dict[str, Any]:
    """Return a chat completion with tool calls, the shape that authors know."""
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {
                "name": block.name or "",
                "arguments": msgspec.json.encode(block.input).decode(),
            },
        }
        for block in blocks
    ]
    message = {"role": "assistant", "content": text, "tool_calls": calls}
    return {"choices": [{"message": message}], "usage": replies.token_counts(usage)}


def _translate_keys(keys: dict[str, Any]) -> dict[str, Any]:
    """Translate `response_format` and `max_completion_tokens` to this API."""
    sent = dict(keys)
    if "max_completion_tokens" in sent:
        sent.setdefault("max_tokens", sent.pop("max_completion_tokens"))
    wanted = sent.pop("response_format", None)
    if wanted is None or (isinstance(wanted, dict) and wanted.get("type") == "text"):
        return sent
    named = wanted.get("json_schema") if isinstance(wanted, dict) else None
    schema = named.get("schema") if isinstance(named, dict) else None
    if not isinstance(schema, dict):
        raise ModelError(
            "unsupported",
            "the messages API has no `response_format` but a JSON schema",
            hint='{"type": "json_schema", "json_schema": {"name": "…", "schema": {…}}}',
        )
    config = sent.get("output_config") or {}
    sent["output_config"] = {**config, "format": {"type": "json_schema", "schema": schema}}
    return sent


def _rename_stop(keys: dict[str, Any]) -> dict[str, Any]:
    sent = dict(keys)
    if (stop := sent.pop("stop", None)) is not None:
        sent.setdefault("stop_sequences", [stop] if isinstance(stop, str) else stop)
    return sent
