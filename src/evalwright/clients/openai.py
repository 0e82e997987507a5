"""`openai/MODEL`: the OpenAI Chat Completions API, and servers compatible with it.

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
    -m latticeflow/MODEL            LATTICEFLOW_BASE_URL must be set
    -m vllm/MODEL                   http://localhost:8000/v1, no key needed
    -m ollama/MODEL                 http://localhost:11434/v1, no key needed
    -m llamacpp/MODEL               http://localhost:8080/v1, no key needed
    -m lmstudio/MODEL               http://localhost:1234/v1, no key needed

`OPENAI_BASE_URL`, `OLLAMA_BASE_URL` and similar variables override the address. `/chat/completions`
is appended to the address; if it has no path, `/v1` is added first. A provider's own address
requires a key. At any other address, the server decides whether a key is required. `HTTPS_PROXY`
and similar variables are respected. To compare two servers, set the address per model: `-m
openai/MODEL@http://host/v1`.

Generation parameters such as `temperature`, `max_tokens`, `stop`, `response_format` and `tools` are
sent unchanged. `logprobs=true` requests log-probabilities, which not every server supports. The
first trial uses `seed`, the second `seed + 1` and so on, so that trials differ. With `n=4`, four
trials share one request. The timeouts, with their defaults in seconds, are `connect_timeout_s`
(10), `first_byte_timeout_s` (300) and `total_timeout_s` (600).

Keys set by a task, such as `response_format`, are sent together with the parameters and take
precedence. Requests for embeddings go to `/embeddings` at the same address.

If a reply is a refusal or is filtered, empty or cut off before any text, the sample fails, and the
failure states the reason. In task documents, refusals and empty replies count as answers. A reply
that is cut off after some text is an answer with the `finish` value `length`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from msgspec import Struct, structs

from evalwright.clients import replies
from evalwright.clients.http import ApiModel, Endpoint, Exchange
from evalwright.clients.message_files import to_chat_messages
from evalwright.clients.parameters import (
    Count,
    SamplingParameters,
    chat_keys,
    locate_model,
    parse_embedding_input,
)
from evalwright.clients.providers import locate_neighbour
from evalwright.errors import ModelError
from evalwright.types import Completion, Message, ModelOptions, Request, Usage

_CHAT = "/chat/completions"
_NEVER = {"model": "it is taken from the model name", "messages": "the task sets them"}
_NOT_ASKED = {**_NEVER, "n": "set it with a parameter of the run"}
_EMBEDDING_PARAMETERS = ("dimensions", "user")
"""Parameters that also apply to embeddings."""
_MOST_SHARED_REQUESTS = 1000

RequestGroup = tuple[str, tuple[Message, ...], bytes, int]
"""Sample, messages, other keys, and the index of the group."""


class ChatParameters(SamplingParameters, frozen=True, kw_only=True):
    """Known parameters of this API."""

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


class ChatUsage(Struct, frozen=True):
    """Token counts over all choices."""

    prompt_tokens: replies.TokenCount = 0
    completion_tokens: replies.TokenCount = 0


class ChatReply(Struct, frozen=True):
    """The fields that are read from a reply."""

    choices: list[replies.ChatChoice]
    usage: ChatUsage | None = None
    error: Any = None


class _EmbeddingReply(Struct, frozen=True):
    data: list[replies.Embedding]
    usage: ChatUsage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(ChatReply)
_embedding_decoder = msgspec.json.Decoder(_EmbeddingReply)
_encoder = msgspec.json.Encoder()


class SharedReply:
    """A reply shared by several trials."""

    def __init__(self, reply: asyncio.Future[Exchange[ChatReply]], choices: int) -> None:
        self.reply = reply
        self.untaken = set(range(choices))
        self.is_uncounted = True
        """Whether the tokens have not been counted yet."""


class SharedReplies:
    """Distributes the `n` choices of a reply to trials.

    With `n=4`, the trials 0 to 3 of a sample share one request, and its prompt is paid for once.
    The first trial sends the request; the others wait for the reply, and each takes its own choice.
    A failed request fails for all waiting trials; a retry sends it again. The first trial to take
    its choice counts the tokens. If there are fewer trials than `n`, the remaining choices are paid
    for but unused.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._open: dict[RequestGroup, SharedReply] = {}

    async def take(
        self, request: Request, ask: Callable[[Request], Coroutine[None, None, Exchange[ChatReply]]]
    ) -> tuple[Exchange[ChatReply], int, bool]:
        """Return the reply, the index of this trial's choice, and whether it is the first taken."""
        number, place = divmod(request.trial, self._n)
        keys = msgspec.json.encode(request.input, order="deterministic")
        group = (request.sample.id, request.messages, keys, number)
        shared = self._open.get(group)
        if shared is None or place not in shared.untaken:
            shared = self._begin(group, ask(request))
        shared.untaken.discard(place)
        if not shared.untaken and self._open.get(group) is shared:
            del self._open[group]
        # Cancelling one trial must not cancel the others.
        reply = await asyncio.shield(shared.reply)
        is_first, shared.is_uncounted = shared.is_uncounted, False
        return reply, place, is_first

    async def close(self) -> None:
        """Cancel the requests that no trial is waiting for."""
        replies = [shared.reply for shared in self._open.values()]
        self._open.clear()
        for reply in replies:
            reply.cancel()
        await asyncio.gather(*replies, return_exceptions=True)

    def _begin(
        self, group: RequestGroup, request: Coroutine[None, None, Exchange[ChatReply]]
    ) -> SharedReply:
        shared = SharedReply(asyncio.ensure_future(request), self._n)

        def forget_failure(reply: asyncio.Future[Exchange[ChatReply]]) -> None:
            failed = reply.cancelled() or reply.exception() is not None
            if failed and self._open.get(group) is shared:
                del self._open[group]

        shared.reply.add_done_callback(forget_failure)  # runs before waiting trials retry
        self._open[group] = shared
        if len(self._open) > _MOST_SHARED_REQUESTS:
            del self._open[next(iter(self._open))]
        return shared


class Chat(ApiModel):
    """A model behind a Chat Completions API."""

    api = "chat completions"

    def __init__(
        self, name: str, endpoint: Endpoint, parameters: dict[str, Any], *, embeddings: Endpoint
    ) -> None:
        super().__init__(name, endpoint, parameters)
        self._embeddings = embeddings
        self._seed: int | None = parameters.get("seed")
        self._n: int = parameters.get("n") or 1
        self._shared = SharedReplies(self._n)

    async def complete(self, request: Request) -> Completion:
        """Query the model for the next message of a conversation, or embed an input."""
        if request.task == "embeddings":
            return await self._embed(request)
        if self._n == 1:
            return self._read(await self._ask(request), takes_all=request.takes_all)
        exchange, place, is_first = await self._shared.take(request, self._ask)
        return self._read(exchange, place, counts=is_first, takes_all=request.takes_all)

    async def close(self) -> None:
        """Close the connections."""
        await self._shared.close()
        await self._embeddings.close()
        await super().close()

    async def _embed(self, request: Request) -> Completion:
        texts, keys = parse_embedding_input(request)
        names = ("model", *_EMBEDDING_PARAMETERS)
        body = {name: self._body[name] for name in names if name in self._body}
        body |= {**keys, "input": texts, "encoding_format": "float"}
        reply, bodies = await self._embeddings.exchange(_encoder.encode(body), _embedding_decoder)
        vectors = replies.order_embeddings(reply.data, len(texts))
        tokens = reply.usage.prompt_tokens if reply.usage else 0
        completion = replies.embedding_completion(vectors, replies.make_usage(tokens, 0))
        return structs.replace(completion, bodies=bodies)

    async def _ask(self, request: Request) -> Exchange[ChatReply]:
        keys = chat_keys(request, never=_NOT_ASKED)
        body = {**self._body, **keys, "messages": to_chat_messages(request.messages)}
        if isinstance(seed := keys.get("seed", self._seed), int):
            body["seed"] = seed + request.trial // self._n
        return await self._endpoint.exchange(_encoder.encode(body), _decoder)

    def _read(
        self,
        exchange: Exchange[ChatReply],
        place: int = 0,
        *,
        counts: bool = True,
        takes_all: bool,
    ) -> Completion:
        reply = exchange.reply
        if len(reply.choices) <= place:
            raise ModelError("empty", f"the reply has {len(reply.choices)} choices")
        choice = reply.choices[place]
        if choice.error or choice.finish_reason == "error":
            raise self._endpoint.error_object(choice.error)
        tokens = reply.usage or ChatUsage()
        usage = replies.make_usage(tokens.prompt_tokens, tokens.completion_tokens)
        completion = choice.complete(
            usage,
            paid=usage if counts else Usage(),
            clean=self._endpoint.clean,
            takes_all=takes_all,
        )
        return structs.replace(completion, bodies=exchange.bodies)


def connect(name: str, options: ModelOptions = ModelOptions()) -> Chat:
    """Connect the model with this name, at the provider in the options."""
    address, parameters, timeouts = locate_model(
        f"openai/{name}", _CHAT, options, known=ChatParameters, never=_NEVER
    )
    keeps = options.keeps_bodies
    neighbour = locate_neighbour(address, _CHAT, "/embeddings")
    embeddings = Endpoint(neighbour, timeouts=timeouts, keeps_bodies=keeps)
    chat = Endpoint(address, timeouts=timeouts, keeps_bodies=keeps)
    return Chat(name, chat, parameters, embeddings=embeddings)
