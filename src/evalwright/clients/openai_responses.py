"""`openai-responses/MODEL`: the responses API, at OpenAI or wherever `OPENAI_BASE_URL` says.

    -m openai-responses/gpt-5-mini          OPENAI_API_KEY

The address is what `/responses` is appended to; all that `openai/…` says of addresses, keys,
proxies and timeouts holds here. Parameters are sent as they are given, and three that are known by
their chat completions name are translated, so that one command can ask both:

    max_tokens        max_output_tokens
    logprobs=true     include: [message.output_text.logprobs]
    response_format   text.format

`n`, `seed` and `stop` do not exist here. Nothing is stored at the provider unless `store=true`.
"""

from typing import Any

import msgspec
from msgspec import Struct

from evalwright.clients import answers
from evalwright.clients.http import Endpoint
from evalwright.clients.openai import Logprob
from evalwright.clients.parameters import Sampling, check, fingerprint, more
from evalwright.clients.providers import locate
from evalwright.errors import ModelError, UsageError
from evalwright.types import Completion, Finish, ModelOptions, Request, Usage

_NEVER = {
    "model": "it is the model's name",
    "input": "it is the task's",
    "background": "a reply is waited for",
    "n": "the responses API has none; trials are requests of their own",
    "seed": "the responses API has none",
    "stop": "the responses API has none",
}
_NOT_ASKED = {**_NEVER, "messages": "they are the task's"}
_ENDED = {"completed", "incomplete", None}


class Parameters(Sampling, frozen=True, kw_only=True):
    """What is known of this API's parameters."""

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


class Part(Struct, frozen=True):
    """A piece of a message."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None
    logprobs: list[Logprob] | None = None


class Item(Struct, frozen=True):
    """A message, a call, a piece of reasoning or something newer."""

    type: str = ""
    content: list[Part] | None = None
    name: str | None = None
    arguments: Any = None
    call_id: str | None = None


class Details(Struct, frozen=True):
    """Why a reply is incomplete."""

    reason: str | None = None


class Counted(Struct, frozen=True):
    """The tokens."""

    input_tokens: answers.Tokens = 0
    output_tokens: answers.Tokens = 0


class Reply(Struct, frozen=True):
    """What comes back, as far as it is needed."""

    output: list[Item]
    status: str | None = None
    incomplete_details: Details | None = None
    usage: Counted | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(Reply)
_encoder = msgspec.json.Encoder()


class Responses:
    """A model behind a responses API."""

    caveat = ""

    def __init__(self, name: str, endpoint: Endpoint, parameters: dict[str, Any]) -> None:
        self.fingerprint = fingerprint("responses", endpoint.url, parameters)
        self._endpoint = endpoint
        self._body = {"model": name, **parameters}

    async def complete(self, request: Request) -> Completion:
        """One answer to one conversation."""
        keys = translated(more(request, never=_NOT_ASKED))
        body = {**self._body, **keys, "input": request.messages}
        reply = await self._endpoint.ask(_encoder.encode(body), _decoder)
        return self._answer(reply, takes_all=request.takes_all)

    async def close(self) -> None:
        """Let go of connections."""
        await self._endpoint.close()

    def _answer(self, reply: Reply, *, takes_all: bool) -> Completion:
        if reply.error or reply.status == "failed":
            raise self._endpoint.error_object(reply.error)
        if reply.status not in _ENDED:
            raise ModelError("wrong_shape", f"the reply is `{answers.one_line(str(reply.status))}`")
        why = reply.incomplete_details.reason if reply.incomplete_details else None
        if why == "content_filter":
            raise answers.filtered()
        parts = [
            part for item in reply.output if item.type == "message" for part in item.content or ()
        ]
        text = "".join(part.text or "" for part in parts if part.type == "output_text")
        counted = reply.usage or Counted()
        usage = answers.usage(counted.input_tokens, counted.output_tokens)
        if refusal := "".join(part.refusal or "" for part in parts):
            words = self._endpoint.clean(refusal)
            return answers.declined(words, said=text, usage=usage, takes_all=takes_all)
        calls = [
            answers.Call(item.name or "", answers.parsed(item.arguments))
            for item in reply.output
            if item.type == "function_call"
        ]
        found = Completion(
            text=text,
            finish=_finish(reply, why),
            usage=usage,
            logprobs=tuple([one.logprob for part in parts for one in part.logprobs or ()]) or None,
            output=_output(reply, usage) if calls else None,
        )
        return answers.answer(found, calls=calls, takes_all=takes_all)


def connect(name: str, options: ModelOptions = ModelOptions()) -> Responses:
    """The model of that name."""
    provider = options.provider or "openai-responses"
    if not name:
        raise UsageError(f"`{provider}/` needs a model", hint=f"write {provider}/MODEL")
    address = locate(provider, "/responses", options.environment)
    given, timeouts = check(
        options.parameters, Parameters, model=f"{provider}/{name}", never=_NEVER
    )
    headers = {"Authorization": f"Bearer {address.key}"} if address.key else {}
    endpoint = Endpoint(address, headers=headers, timeouts=timeouts)
    return Responses(name, endpoint, translated({"store": False, **given}))


def translated(given: dict[str, Any]) -> dict[str, Any]:
    """Chat completions parameters, by the names that they have here."""
    sent = dict(given)
    if (most := sent.pop("max_tokens", None)) is not None:
        sent.setdefault("max_output_tokens", most)
    if sent.pop("logprobs", None):
        sent["include"] = [*(sent.get("include") or ()), "message.output_text.logprobs"]
    if wanted := sent.pop("response_format", None):
        schema = wanted.get("json_schema")
        shape = {"type": wanted.get("type"), **schema} if isinstance(schema, dict) else wanted
        sent["text"] = {**(sent.get("text") or {}), "format": shape}
    return sent


def _output(reply: Reply, usage: Usage) -> dict[str, Any]:
    """Messages and calls, in the shape of open responses."""
    items: list[dict[str, Any]] = []
    for item in reply.output:
        if item.type == "message":
            said = [{"type": part.type, "text": part.text or ""} for part in item.content or ()]
            items.append({"type": "message", "role": "assistant", "content": said})
        elif item.type == "function_call":
            call = {"name": item.name or "", "arguments": item.arguments, "call_id": item.call_id}
            items.append({"type": "function_call", **call})
    return {"items": items, "usage": answers.counted(usage)}


def _finish(reply: Reply, why: str | None) -> Finish:
    if why == "max_output_tokens":
        return "length"
    return "stop" if reply.status == "completed" else "other"
