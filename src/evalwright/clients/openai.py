"""`openai/MODEL`: the chat completions API, at OpenAI and wherever else it is spoken.

    -m openai/gpt-4.1-mini          OPENAI_API_KEY
    -m openrouter/qwen/qwen3-8b     OPENROUTER_API_KEY
    -m together/MODEL               TOGETHER_API_KEY
    -m fireworks/MODEL              FIREWORKS_API_KEY
    -m groq/MODEL                   GROQ_API_KEY
    -m mistral/MODEL                MISTRAL_API_KEY
    -m deepseek/MODEL               DEEPSEEK_API_KEY
    -m gemini/MODEL                 GEMINI_API_KEY
    -m sambanova/MODEL              SAMBANOVA_API_KEY
    -m novita/MODEL                 NOVITA_API_KEY
    -m latticeflow/MODEL            LATTICEFLOW_BASE_URL must say where
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

A task's own keys, such as `response_format`, go out beside the parameters, and win. A task for
`embeddings` is asked at `/embeddings` of the same address.

A reply that is refused, filtered, empty or cut before any text is a failure that says which; in a
task of a document, a refusal and an empty reply are answers. One that is cut later is an answer,
and its `finish` is `length`.
"""

from typing import Any

import msgspec
from msgspec import Struct

from evalwright.clients import answers
from evalwright.clients.choices import Choices
from evalwright.clients.embeddings import Embeddings
from evalwright.clients.http import Endpoint
from evalwright.clients.parameters import Count, Sampling, check, fingerprint, more
from evalwright.clients.providers import beside, locate
from evalwright.errors import ModelError, UsageError
from evalwright.types import Completion, Finish, ModelOptions, Request, Usage

FINISHES: dict[str | None, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
_CHAT = "/chat/completions"
_NEVER = {"model": "it is the model's name", "messages": "they are the task's"}
_NOT_ASKED = {**_NEVER, "n": "it is a parameter of the run"}


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
    references: list[Any] | None = None
    """What a retrieving model found."""


class Counted(Struct, frozen=True):
    """The tokens of all choices together."""

    prompt_tokens: answers.Tokens = 0
    completion_tokens: answers.Tokens = 0


class Reply(Struct, frozen=True):
    """What comes back, as far as it is needed."""

    choices: list[Choice]
    usage: Counted | None = None
    error: Any = None


decoder = msgspec.json.Decoder(Reply)
_encoder = msgspec.json.Encoder()


class Chat:
    """A model behind a chat completions API."""

    caveat = ""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        parameters: dict[str, Any],
        *,
        embeddings: Embeddings,
    ) -> None:
        self.fingerprint = fingerprint("chat completions", endpoint.url, parameters)
        self._embeddings = embeddings
        self._endpoint = endpoint
        self._body = {"model": name, **parameters}
        self._seed: int | None = parameters.get("seed")
        self._n: int = parameters.get("n") or 1
        self._choices = Choices[Reply](self._n)

    async def complete(self, request: Request) -> Completion:
        """One answer to one conversation, or the embeddings of one input."""
        if request.task == "embeddings":
            return await self._embeddings.complete(request)
        if self._n == 1:
            return self._answer(await self._ask(request), takes_all=request.takes_all)
        reply, place, first = await self._choices.take(request, self._ask)
        return self._answer(reply, place, counts=first, takes_all=request.takes_all)

    async def close(self) -> None:
        """Let go of connections."""
        await self._choices.close()
        await self._embeddings.close()
        await self._endpoint.close()

    async def _ask(self, request: Request) -> Reply:
        keys = more(request, never=_NOT_ASKED)
        body = {**self._body, **keys, "messages": request.messages}
        if isinstance(seed := keys.get("seed", self._seed), int):
            body["seed"] = seed + request.trial // self._n
        return await self._endpoint.ask(_encoder.encode(body), decoder)

    def _answer(
        self, reply: Reply, place: int = 0, *, counts: bool = True, takes_all: bool
    ) -> Completion:
        if reply.error:
            raise self._endpoint.error_object(reply.error)
        if len(reply.choices) <= place:
            raise ModelError("empty", f"the reply has {len(reply.choices)} choices")
        choice = reply.choices[place]
        if choice.error or choice.finish_reason == "error":
            raise self._endpoint.error_object(choice.error)
        said = choice.message
        counted = reply.usage or Counted()
        usage = answers.usage(counted.prompt_tokens, counted.completion_tokens)
        if said.refusal:
            words = self._endpoint.clean(said.refusal)
            paid = usage if counts else Usage()
            return answers.declined(words, said=text_of(said), usage=paid, takes_all=takes_all)
        if choice.finish_reason == "content_filter":
            raise answers.filtered()
        found = Completion(
            text=text_of(said),
            finish=FINISHES.get(choice.finish_reason, "other"),
            usage=usage if counts else Usage(),
            logprobs=logprobs_of(choice.logprobs) if choice.logprobs else None,
            output=output_of(choice, usage)
            if said.tool_calls or choice.references is not None
            else None,
        )
        calls = map(call_of, said.tool_calls or ())
        return answers.answer(found, calls=calls, takes_all=takes_all)


def connect(name: str, options: ModelOptions = ModelOptions()) -> Chat:
    """The model of that name, at the provider that the options name."""
    provider = options.provider or "openai"
    if not name:
        raise UsageError(f"`{provider}/` needs a model", hint=f"write {provider}/MODEL")
    address = locate(provider, _CHAT, options.environment)
    parameters, timeouts = check(
        options.parameters, Parameters, model=f"{provider}/{name}", never=_NEVER
    )
    headers = {"Authorization": f"Bearer {address.key}"} if address.key else {}
    chat, embeddings = (
        Endpoint(where, headers=headers, timeouts=timeouts)
        for where in (address, beside(address, _CHAT, "/embeddings"))
    )
    return Chat(name, chat, parameters, embeddings=Embeddings(name, embeddings, parameters))


def text_of(said: Said) -> str:
    """What a message says, in one piece."""
    if isinstance(said.content, list):
        return "".join(part.text or "" for part in said.content if part.type == "text")
    return said.content or ""


def output_of(choice: Choice, usage: Usage) -> dict[str, Any]:
    """All that a text does not say, in the shape that authors know."""
    said: dict[str, Any] = {"role": "assistant", "content": text_of(choice.message)}
    if choice.message.tool_calls:
        said["tool_calls"] = choice.message.tool_calls
    chosen: dict[str, Any] = {"message": said, "finish_reason": choice.finish_reason}
    if choice.references is not None:  # nothing found is something else than nothing said
        chosen["references"] = choice.references
    return {"choices": [chosen], "usage": answers.counted(usage)}


def call_of(call: dict[str, Any]) -> answers.Call:
    """One tool call of a message."""
    wanted = call.get("function") or call.get("custom")
    if not isinstance(wanted, dict):
        return answers.Call("", call)
    arguments = wanted.get("arguments", wanted.get("input"))
    return answers.Call(str(wanted.get("name", "")), answers.parsed(arguments))


def logprobs_of(given: Logprobs) -> tuple[float, ...] | None:
    """One a token; None where any is missing."""
    if given.content is not None:
        return tuple([token.logprob for token in given.content]) or None
    known = [value for value in given.token_logprobs or () if value is not None]
    return (tuple(known) or None) if len(known) == len(given.token_logprobs or ()) else None
