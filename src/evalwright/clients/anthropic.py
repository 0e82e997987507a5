"""`anthropic/MODEL`: the Anthropic Messages API.

    -m anthropic/claude-haiku-4-5           ANTHROPIC_API_KEY

`ANTHROPIC_BASE_URL` overrides the address. `/v1/messages` is appended to it, or `/messages` if it
ends in `/v1`. For keys, proxies and timeouts, see `openai/…`.

Parameters are sent unchanged, except that `stop` is sent as `stop_sequences`. The API requires
`max_tokens`, which defaults to 4096. System messages are sent as `system`. The API does not support
log-probabilities, `seed` or `n`. If a task sets a JSON schema in `response_format`, it is sent as
`output_config`.
"""

from typing import Any

import msgspec
from msgspec import Struct, structs

from evalwright.clients import replies
from evalwright.clients.http import ApiModel, Endpoint
from evalwright.clients.message_files import refuse_files
from evalwright.clients.parameters import SamplingParameters, chat_keys, locate_model
from evalwright.errors import ModelError
from evalwright.types import Completion, Finish, ModelOptions, Request, Usage

MAX_TOKENS = 4096

_FINISHES: dict[str | None, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}
_NEVER = {
    "model": "it is taken from the model name",
    "messages": "the task sets them",
    "logprobs": "the Messages API does not support it",
    "top_logprobs": "the Messages API does not support it",
    "n": "the Messages API does not support it; each trial is a separate request",
    "seed": "the Messages API does not support it",
    "response_format": "the Messages API does not support it; see its `output_config`",
}
_NOT_ASKED = {name: why for name, why in _NEVER.items() if name != "response_format"}


class AnthropicParameters(SamplingParameters, frozen=True, kw_only=True):
    """Known parameters of this API."""

    max_tokens: int = MAX_TOKENS
    stop: str | list[str] | None = None
    stop_sequences: list[str] | None = None
    system: str | list[dict[str, Any]] | None = None
    thinking: dict[str, Any] | None = None
    tool_choice: dict[str, Any] | None = None


class _AnthropicBlock(Struct, frozen=True):
    type: str = ""
    text: str | None = None
    name: str | None = None
    input: Any = None
    id: str | None = None


class _AnthropicReply(Struct, frozen=True):
    content: list[_AnthropicBlock]
    stop_reason: str | None = None
    usage: replies.TokenUsage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_AnthropicReply)
_encoder = msgspec.json.Encoder()


class Messages(ApiModel):
    """A model behind the Messages API."""

    api = "messages"

    async def complete(self, request: Request) -> Completion:
        """Query the model for the next message of a conversation."""
        messages = request.messages
        refuse_files(messages, self.api)
        body = {**self._body, "messages": [item for item in messages if item.role != "system"]}
        if system := "\n\n".join(item.content for item in messages if item.role == "system"):
            body["system"] = system
        if keys := chat_keys(request, never=_NOT_ASKED):
            body.update(_rename_stop(_translate_keys(keys)))
        reply, bodies = await self._endpoint.exchange(_encoder.encode(body), _decoder)
        completion = self._read(reply, takes_all=request.takes_all)
        return structs.replace(completion, bodies=bodies)

    def _read(self, reply: _AnthropicReply, *, takes_all: bool) -> Completion:
        text = "".join(block.text or "" for block in reply.content if block.type == "text")
        usage = (reply.usage or replies.TokenUsage()).usage
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
        calls = [{"name": block.name or "", "arguments": block.input} for block in blocks]
        return replies.check_completion(completion, calls=calls, takes_all=takes_all)


def connect(name: str, options: ModelOptions = ModelOptions()) -> Messages:
    """Connect the model with this name."""
    address, parameters, timeouts = locate_model(
        f"anthropic/{name}", "/messages", options, known=AnthropicParameters, never=_NEVER
    )
    endpoint = Endpoint(address, timeouts=timeouts, keeps_bodies=options.keeps_bodies)
    return Messages(name, endpoint, _rename_stop({"max_tokens": MAX_TOKENS, **parameters}))


def _make_output(text: str, blocks: list[_AnthropicBlock], usage: Usage) -> dict[str, Any]:
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
    """Translate `response_format` and `max_completion_tokens` for this API."""
    sent = dict(keys)
    if "max_completion_tokens" in sent:
        sent.setdefault("max_tokens", sent.pop("max_completion_tokens"))
    response_format = sent.pop("response_format", None)
    if response_format is None or (
        isinstance(response_format, dict) and response_format.get("type") == "text"
    ):
        return sent
    named = response_format.get("json_schema") if isinstance(response_format, dict) else None
    schema = named.get("schema") if isinstance(named, dict) else None
    if not isinstance(schema, dict):
        raise ModelError(
            "unsupported",
            "the Messages API supports only a JSON schema as `response_format`",
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
