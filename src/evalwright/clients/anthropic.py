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

from evalwright.clients import answers
from evalwright.clients.http import Endpoint
from evalwright.clients.parameters import Sampling, check, fingerprint, more
from evalwright.clients.providers import locate
from evalwright.errors import ModelError, UsageError
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


class Parameters(Sampling, frozen=True, kw_only=True):
    """What is known of this API's parameters."""

    max_tokens: int = MAX_TOKENS
    stop: str | list[str] | None = None
    stop_sequences: list[str] | None = None
    system: str | list[dict[str, Any]] | None = None
    thinking: dict[str, Any] | None = None
    tool_choice: dict[str, Any] | None = None


class Block(Struct, frozen=True):
    """A piece of the answer."""

    type: str = ""
    text: str | None = None
    name: str | None = None
    input: Any = None
    id: str | None = None


class Counted(Struct, frozen=True):
    """The tokens; what went into or came out of the provider's cache is counted apart."""

    input_tokens: answers.Tokens = 0
    output_tokens: answers.Tokens = 0
    cache_creation_input_tokens: answers.Tokens = 0
    cache_read_input_tokens: answers.Tokens = 0

    @property
    def prompt_tokens(self) -> int:
        """All that went in."""
        parts = (
            self.input_tokens,
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
        )
        return sum(part or 0 for part in parts)


class Reply(Struct, frozen=True):
    """What comes back, as far as it is needed."""

    content: list[Block]
    stop_reason: str | None = None
    usage: Counted | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(Reply)
_encoder = msgspec.json.Encoder()


class Messages:
    """A model behind the messages API."""

    caveat = ""

    def __init__(self, name: str, endpoint: Endpoint, parameters: dict[str, Any]) -> None:
        self.fingerprint = fingerprint("messages", endpoint.url, parameters)
        self._endpoint = endpoint
        self._body = {"model": name, **parameters}

    async def complete(self, request: Request) -> Completion:
        """One answer to one conversation."""
        body = {**self._body, "messages": [one for one in request.messages if one.role != "system"]}
        if system := "\n\n".join(one.content for one in request.messages if one.role == "system"):
            body["system"] = system
        if keys := more(request, never=_NOT_ASKED):
            body.update(_translated(_shaped(keys)))
        reply = await self._endpoint.ask(_encoder.encode(body), _decoder)
        return self._answer(reply, takes_all=request.takes_all)

    async def close(self) -> None:
        """Let go of connections."""
        await self._endpoint.close()

    def _answer(self, reply: Reply, *, takes_all: bool) -> Completion:
        if reply.error:
            raise self._endpoint.error_object(reply.error)
        text = "".join(block.text or "" for block in reply.content if block.type == "text")
        counted = reply.usage or Counted()
        usage = answers.usage(counted.prompt_tokens, counted.output_tokens)
        if reply.stop_reason == "refusal":
            words = self._endpoint.clean(text)
            return answers.declined(words, usage=usage, takes_all=takes_all)
        wanted = [block for block in reply.content if block.type == "tool_use"]
        found = Completion(
            text=text,
            finish=_FINISHES.get(reply.stop_reason, "other"),
            usage=usage,
            output=_output(text, wanted, usage) if wanted else None,
        )
        calls = [answers.Call(block.name or "", block.input) for block in wanted]
        return answers.answer(found, calls=calls, takes_all=takes_all)


def connect(name: str, options: ModelOptions = ModelOptions()) -> Messages:
    """The model of that name."""
    provider = options.provider or "anthropic"
    if not name:
        raise UsageError(f"`{provider}/` needs a model", hint=f"write {provider}/MODEL")
    address = locate(provider, "/messages", options.environment)
    given, timeouts = check(
        options.parameters, Parameters, model=f"{provider}/{name}", never=_NEVER
    )
    headers = {"anthropic-version": API_VERSION}
    if address.key:
        headers["x-api-key"] = address.key
    endpoint = Endpoint(address, headers=headers, timeouts=timeouts)
    return Messages(name, endpoint, _translated({"max_tokens": MAX_TOKENS, **given}))


def _output(text: str, wanted: list[Block], usage: Usage) -> dict[str, Any]:
    """A chat completion with tool calls, the shape that authors know."""
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {
                "name": block.name or "",
                "arguments": msgspec.json.encode(block.input).decode(),
            },
        }
        for block in wanted
    ]
    said = {"role": "assistant", "content": text, "tool_calls": calls}
    return {"choices": [{"message": said}], "usage": answers.counted(usage)}


def _shaped(keys: dict[str, Any]) -> dict[str, Any]:
    """`response_format` as this API words it; the length by its only name."""
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


def _translated(given: dict[str, Any]) -> dict[str, Any]:
    sent = dict(given)
    if (stop := sent.pop("stop", None)) is not None:
        sent.setdefault("stop_sequences", [stop] if isinstance(stop, str) else stop)
    return sent
