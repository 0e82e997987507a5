"""`openai-responses/MODEL`: the OpenAI Responses API, or the server at `OPENAI_BASE_URL`.

    -m openai-responses/gpt-5-mini          OPENAI_API_KEY

`/responses` is appended to the address. For addresses, keys, proxies and timeouts, see `openai/…`.
Parameters are sent unchanged, except that three names from the Chat Completions API are translated.
The same command can therefore query both APIs:

    max_tokens        max_output_tokens
    logprobs=true     include: [message.output_text.logprobs]
    response_format   text.format

The API does not support `n`, `seed` or `stop`. Requests are sent with `store=false`, which asks the
provider not to store them, unless you set `store=true`.
"""

from typing import Any

import msgspec
from msgspec import Struct, structs

from evalwright.clients import replies
from evalwright.clients.http import ApiModel, Endpoint
from evalwright.clients.message_files import to_response_items
from evalwright.clients.parameters import SamplingParameters, chat_keys, locate_model
from evalwright.errors import ModelError
from evalwright.types import Completion, Finish, ModelOptions, Request, Usage

_NEVER = {
    "model": "it is taken from the model name",
    "input": "the task sets it",
    "background": "background replies are not supported",
    "n": "the Responses API does not support it; each trial is a separate request",
    "seed": "the Responses API does not support it",
    "stop": "the Responses API does not support it",
}
_NOT_ASKED = {**_NEVER, "messages": "the task sets them"}
_ENDED = {"completed", "incomplete", None}


class ResponsesParameters(SamplingParameters, frozen=True, kw_only=True):
    """Known parameters of this API."""

    max_output_tokens: int | None = None
    max_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    include: list[str] | None = None
    instructions: str | None = None
    response_format: dict[str, Any] | None = None
    text: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    store: bool | None = None
    tool_choice: str | dict[str, Any] | None = None


class _ResponsesPart(Struct, frozen=True):
    type: str = ""
    text: str | None = None
    refusal: str | None = None
    logprobs: list[replies.TokenLogprob] | None = None


class _ResponsesItem(Struct, frozen=True):
    type: str = ""
    content: list[_ResponsesPart] | None = None
    name: str | None = None
    arguments: Any = None
    call_id: str | None = None


class _IncompleteDetails(Struct, frozen=True):
    reason: str | None = None


class _ResponsesReply(Struct, frozen=True):
    output: list[_ResponsesItem]
    status: str | None = None
    incomplete_details: _IncompleteDetails | None = None
    usage: replies.TokenUsage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_ResponsesReply)
_encoder = msgspec.json.Encoder()


class Responses(ApiModel):
    """A model behind a Responses API."""

    api = "responses"

    async def complete(self, request: Request) -> Completion:
        """Query the model for the next message of a conversation."""
        keys = translate_parameters(chat_keys(request, never=_NOT_ASKED))
        body = {**self._body, **keys, "input": to_response_items(request.messages)}
        reply, bodies = await self._endpoint.exchange(_encoder.encode(body), _decoder)
        if reply.status == "failed":
            raise self._endpoint.error_object(None)
        if reply.status not in _ENDED:
            raise ModelError(
                "wrong_shape",
                f"the reply has the status `{replies.to_one_line(str(reply.status))}`",
            )
        completion = self._read(reply, takes_all=request.takes_all)
        return structs.replace(completion, bodies=bodies)

    def _read(self, reply: _ResponsesReply, *, takes_all: bool) -> Completion:
        reason = reply.incomplete_details.reason if reply.incomplete_details else None
        if reason == "content_filter":
            raise replies.filter_error()
        parts = [
            part for item in reply.output if item.type == "message" for part in item.content or ()
        ]
        text = "".join(part.text or "" for part in parts if part.type == "output_text")
        usage = (reply.usage or replies.TokenUsage()).usage
        if refusal := "".join(part.refusal or "" for part in parts):
            words = self._endpoint.clean(refusal)
            return replies.accept_refusal(words, text=text, usage=usage, takes_all=takes_all)
        calls = [
            replies.make_call(item.name or "", item.arguments)
            for item in reply.output
            if item.type == "function_call"
        ]
        tokens = [token.logprob for part in parts for token in part.logprobs or ()]
        finish: Finish = "stop" if reply.status == "completed" else "other"
        completion = Completion(
            text=text,
            finish="length" if reason == "max_output_tokens" else finish,
            usage=usage,
            logprobs=tuple(tokens) or None,
            output=_make_output(reply, usage) if calls else None,
        )
        return replies.check_completion(completion, calls=calls, takes_all=takes_all)


def connect(name: str, options: ModelOptions = ModelOptions()) -> Responses:
    """Connect the model with this name."""
    address, parameters, timeouts = locate_model(
        f"openai-responses/{name}", "/responses", options, known=ResponsesParameters, never=_NEVER
    )
    endpoint = Endpoint(address, timeouts=timeouts, keeps_bodies=options.keeps_bodies)
    return Responses(name, endpoint, translate_parameters({"store": False, **parameters}))


def translate_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Rename Chat Completions parameters to those of this API."""
    sent = dict(parameters)
    if (most := sent.pop("max_tokens", None)) is not None:
        sent.setdefault("max_output_tokens", most)
    if sent.pop("logprobs", None):
        sent["include"] = [*(sent.get("include") or ()), "message.output_text.logprobs"]
    if response_format := sent.pop("response_format", None):
        schema = response_format.get("json_schema")
        shape = (
            {"type": response_format.get("type"), **schema}
            if isinstance(schema, dict)
            else response_format
        )
        sent["text"] = {**(sent.get("text") or {}), "format": shape}
    return sent


def _make_output(reply: _ResponsesReply, usage: Usage) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for item in reply.output:
        if item.type == "message":
            parts = [{"type": part.type, "text": part.text or ""} for part in item.content or ()]
            items.append({"type": "message", "role": "assistant", "content": parts})
        elif item.type == "function_call":
            call = {"name": item.name or "", "arguments": item.arguments, "call_id": item.call_id}
            items.append({"type": "function_call", **call})
    return {"items": items, "usage": replies.token_counts(usage)}
