"""`openai/MODEL`: the chat completions API, at OpenAI and wherever else it is spoken.

    -m openai/gpt-4.1-mini          OPENAI_API_KEY
    -m openrouter/qwen/qwen3-8b     OPENROUTER_API_KEY
    -m together/MODEL               TOGETHER_API_KEY
    -m fireworks/MODEL              FIREWORKS_API_KEY
    -m groq/MODEL                   GROQ_API_KEY
    -m mistral/MODEL                MISTRAL_API_KEY
    -m deepseek/MODEL               DEEPSEEK_API_KEY
    -m gemini/MODEL                 GEMINI_API_KEY
    -m vllm/MODEL                   http://localhost:8000/v1, no key needed
    -m ollama/MODEL                 http://localhost:11434/v1, no key needed
    -m llamacpp/MODEL               http://localhost:8080/v1, no key needed
    -m lmstudio/MODEL               http://localhost:1234/v1, no key needed

`OPENAI_BASE_URL`, `OLLAMA_BASE_URL` and so on name another address: exactly what
`/chat/completions` is appended to; `/v1` is added to an address without a path. A key is needed at
a provider's own address; elsewhere the server decides. `HTTPS_PROXY` and its like are honoured.

Generation parameters are sent as they are given: `temperature`, `max_tokens`, `stop`,
`response_format`, `tools`. `logprobs=true` asks for log-probabilities, which not every server has.
`seed` is the seed of the first trial; the second is asked with `seed + 1`, so that trials differ.
With `n=4` four trials share one request. `connect_timeout_s` (10), `first_byte_timeout_s` (300)
and `total_timeout_s` (600) say how long is waited.

A reply that is refused, filtered, empty or cut before any text is a failure that says which. One
that is cut later is an answer, and its `finish` is `length`.
"""

from typing import Any

import msgspec
from msgspec import Struct

from evalwright.clients import answers
from evalwright.clients.choices import Choices
from evalwright.clients.http import Endpoint
from evalwright.clients.parameters import Count, Sampling, check, fingerprint
from evalwright.clients.providers import locate
from evalwright.errors import ModelError, UsageError
from evalwright.types import Completion, Finish, ModelOptions, Request, Usage

_FINISHES: dict[str | None, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
_NEVER = {"model": "it is the model's name", "messages": "they are the task's"}


class Parameters(Sampling, frozen=True, kw_only=True):
    """What is known of this API's parameters."""

    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: Count | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    logprobs: bool | int | None = None
    top_logprobs: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    reasoning_effort: str | None = None


class Part(Struct, frozen=True):
    """A piece of a message that came in pieces."""

    type: str = ""
    text: str | None = None


class Said(Struct, frozen=True):
    """The message of a choice."""

    content: str | list[Part] | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class Logprob(Struct, frozen=True, gc=False):
    """One token's."""

    logprob: float


class Logprobs(Struct, frozen=True):
    """One a token: in the API's own shape, or in the older one that some servers keep."""

    content: list[Logprob] | None = None
    token_logprobs: list[float | None] | None = None


class Choice(Struct, frozen=True):
    """One answer."""

    message: Said
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    error: Any = None


class Counted(Struct, frozen=True):
    """The tokens of all choices together."""

    prompt_tokens: answers.Tokens = 0
    completion_tokens: answers.Tokens = 0


class Reply(Struct, frozen=True):
    """What comes back, as far as it is needed."""

    choices: list[Choice]
    usage: Counted | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(Reply)
_encoder = msgspec.json.Encoder()


class Chat:
    """A model behind a chat completions API."""

    caveat = ""

    def __init__(self, name: str, endpoint: Endpoint, parameters: dict[str, Any]) -> None:
        self.fingerprint = fingerprint("chat completions", endpoint.url, parameters)
        self._endpoint = endpoint
        self._body = {"model": name, **parameters}
        self._seed: int | None = parameters.get("seed")
        self._n: int = parameters.get("n") or 1
        self._choices = Choices[Reply](self._n)

    async def complete(self, request: Request) -> Completion:
        """One answer to one conversation."""
        if self._n == 1:
            return self._answer(await self._ask(request))
        reply, place, first = await self._choices.take(request, self._ask)
        return self._answer(reply, place, counts=first)

    async def close(self) -> None:
        """Let go of connections."""
        await self._choices.close()
        await self._endpoint.close()

    async def _ask(self, request: Request) -> Reply:
        body = {**self._body, "messages": request.messages}
        if self._seed is not None:
            body["seed"] = self._seed + request.trial // self._n
        return await self._endpoint.ask(_encoder.encode(body), _decoder)

    def _answer(self, reply: Reply, place: int = 0, *, counts: bool = True) -> Completion:
        if reply.error:
            raise self._endpoint.error_object(reply.error)
        if len(reply.choices) <= place:
            raise ModelError("empty", f"the reply has {len(reply.choices)} choices")
        choice = reply.choices[place]
        if choice.error or choice.finish_reason == "error":
            raise self._endpoint.error_object(choice.error)
        said = choice.message
        if said.refusal:
            raise answers.refused(self._endpoint.clean(said.refusal))
        if choice.finish_reason == "content_filter":
            raise answers.filtered()
        counted = reply.usage or Counted()
        return answers.answer(
            _text(said),
            calls=map(_call, said.tool_calls or ()),
            finish=_FINISHES.get(choice.finish_reason, "other"),
            usage=answers.usage(counted.prompt_tokens, counted.completion_tokens)
            if counts
            else Usage(),
            logprobs=_logprobs(choice.logprobs) if choice.logprobs else None,
        )


def connect(name: str, options: ModelOptions = ModelOptions()) -> Chat:
    """The model of that name, at the provider that the options name."""
    provider = options.provider or "openai"
    if not name:
        raise UsageError(f"`{provider}/` needs a model", hint=f"write {provider}/MODEL")
    address = locate(provider, "/chat/completions", options.environment)
    parameters, timeouts = check(
        options.parameters, Parameters, model=f"{provider}/{name}", never=_NEVER
    )
    headers = {"Authorization": f"Bearer {address.key}"} if address.key else {}
    return Chat(name, Endpoint(address, headers=headers, timeouts=timeouts), parameters)


def _text(said: Said) -> str:
    if isinstance(said.content, list):
        return "".join(part.text or "" for part in said.content if part.type == "text")
    return said.content or ""


def _call(call: dict[str, Any]) -> answers.Call:
    wanted = call.get("function") or call.get("custom")
    if not isinstance(wanted, dict):
        return answers.Call("", call)
    arguments = wanted.get("arguments", wanted.get("input"))
    return answers.Call(str(wanted.get("name", "")), answers.parsed(arguments))


def _logprobs(given: Logprobs) -> tuple[float, ...] | None:
    if given.content is not None:
        return tuple([token.logprob for token in given.content])
    known = [value for value in given.token_logprobs or () if value is not None]
    return tuple(known) if len(known) == len(given.token_logprobs or ()) else None
