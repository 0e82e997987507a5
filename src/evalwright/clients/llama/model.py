"""A local model: answers with log-probabilities, and computes the likelihood of given answers.

An answer goes through the chat template of the file. Its log-probabilities are those of the tokens
that complete a character: llama.cpp does not report the others.

The same request has the same answer, to the last digit, whatever runs concurrently and in however
many threads. llama.cpp computes concurrent requests together, and the digits of a probability
depend on whether the tokens of a sequence were computed one at a time or several. So each prompt
is computed alone, with nothing taken from an earlier one, and what follows token by token.

To score a given answer, the model is forced to generate it: a grammar of the answer's tokens leaves
no choice, and the probabilities are those before the grammar. The answer is split into tokens by
itself, as if the model generated it after the prompt. Answers of one token, such as the letters of
options, are all read from the last position of the prompt, for the cost of one. A token that ends
inside a character is looked up separately, which takes longer.

A text without a prompt is scored after the token that begins all texts (`bos`, or else `eos`;
if the model has neither, all tokens but the first). A text longer than the context is scored in
windows: each token after at least half a context of those before it.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from evalwright.clients import openai
from evalwright.clients.llama.server import LlamaServer, ServerSpec, Tell, join
from evalwright.clients.llama.settings import NEVER
from evalwright.clients.message_files import refuse_files
from evalwright.clients.parameters import chat_keys
from evalwright.clients.replies import make_usage
from evalwright.errors import ModelError
from evalwright.types import Completion, Message, Request

VERSION = 1
"""Increases with every change of the requests that could change an answer."""
T = TypeVar("T")

_CHAT = "/v1/chat/completions"
_LIKELIEST = 1000
"""Tokens whose probabilities are requested at once."""
_ALL = 1_000_000
"""More tokens than any vocabulary has."""
_SURELY = 1e6
_GRAMMAR_START = "%llguidance {}\nstart: "
"""Begins a grammar of tokens. llama.cpp's own format has no tokens for partial characters."""
_MARGIN = 8
"""Tokens of a context that stay free: its end is never filled."""


class Llama:
    """A model in a GGUF file."""

    caveat = ""
    weighs = True

    def __init__(
        self, spec: ServerSpec, parameters: dict[str, Any], *, digest: str, engine: str, tell: Tell
    ) -> None:
        """Take the `digest` of the file, and the version of llama.cpp: both affect answers."""
        facts = {
            "file": digest,
            "engine": engine,
            "version": VERSION,
            "context": spec.settings.context,
            "parameters": parameters,
        }
        self.fingerprint = msgspec.json.encode(facts, order="sorted").decode()
        self.slots = spec.settings.slots
        self._spec = spec
        self._parameters = parameters
        self._tell = tell
        self._server: LlamaServer | None = None
        self._weigher: _Weigher | None = None

    async def complete(self, request: Request) -> Completion:
        """Answer, or score the given answers."""
        if request.task == "embeddings":
            raise ModelError(
                "unsupported",
                f"{self._spec.name} is a chat model and does not support embeddings",
                hint="`local/wordllama` supports them",
            )
        keys = chat_keys(request, never=NEVER)
        refuse_files(request.messages, "local")
        if self._server is None:
            self._server = join(self._spec, self._tell)
        async with self._server.slot() as slot:
            if not request.given:
                body = {**self._parameters, **keys, "messages": request.messages, "id_slot": slot}
                return await self._answer(self._server, request, body)
            weigher = self._weigher = self._weigher or _Weigher(self._server)
            if not request.messages:
                return await weigher.weigh_texts(request.given, slot)
            return await weigher.weigh_answers(request.messages, request.given, slot)

    async def close(self) -> None:
        """Leave the server, which ends after its last user."""
        server, self._server, self._weigher = self._server, None, None
        if server is not None:
            await server.leave()

    async def _answer(
        self, server: LlamaServer, request: Request, body: dict[str, Any]
    ) -> Completion:
        if body["logprobs"]:
            body.setdefault("top_logprobs", 1)  # else it lists twenty per token
        if isinstance(seed := body["seed"], int):
            body["seed"] = seed + request.trial
        if not body["cache_prompt"]:
            async with server.prompting:
                await server.ask(_CHAT, {**body, "max_tokens": 0}, openai.ChatReply)
            body["cache_prompt"] = True  # it is there now, computed by itself
        reply = await server.ask(_CHAT, body, openai.ChatReply)
        if not reply.choices:
            raise ModelError("empty", "the reply has no choices")
        tokens = reply.usage or openai.ChatUsage()
        usage = make_usage(tokens.prompt_tokens, tokens.completion_tokens, cost=0.0)
        return reply.choices[0].complete(usage, takes_all=request.takes_all)


class _Token(Struct, frozen=True, gc=False):
    id: int
    logprob: float


class _GeneratedToken(_Token, frozen=True, gc=False):
    top_logprobs: list[_Token] = []
    """The likeliest tokens at its position."""


class _Generation(Struct, frozen=True):
    completion_probabilities: list[_GeneratedToken] = []
    """Log-probabilities of the tokens that complete a character."""
    tokens: list[int] = []
    tokens_evaluated: int = 0

    @property
    def likeliest(self) -> dict[int, float]:
        """The log-probabilities of the likeliest tokens at the first position."""
        first = self.completion_probabilities[:1]
        return {token.id: token.logprob for place in first for token in place.top_logprobs}


class _TokenIds(Struct, frozen=True):
    tokens: list[int]


class Piece(Struct, frozen=True, gc=False):
    """A token and its text; bytes if it is part of a character."""

    id: int
    piece: str | list[int]

    @property
    def content(self) -> bytes:
        """Its bytes."""
        return self.piece.encode() if isinstance(self.piece, str) else bytes(self.piece)


class _Pieces(Struct, frozen=True):
    tokens: list[Piece]


class _Prompt(Struct, frozen=True):
    prompt: str


class _GenerationSettings(Struct, frozen=True):
    n_ctx: int = 0


class _Props(Struct, frozen=True):
    bos_token: str = ""
    eos_token: str = ""
    default_generation_settings: _GenerationSettings = _GenerationSettings()


class _Weigher:
    """Computes likelihoods of given answers and texts on a server."""

    def __init__(self, server: LlamaServer) -> None:
        self._server = server
        self._text_start: tuple[list[Piece], int] | None = None
        self._letter: int | None = None

    async def weigh_answers(
        self, messages: Sequence[Message], given: Sequence[str], slot: int
    ) -> Completion:
        """Score each answer after the prompt: those of one token together, others separately."""
        chat = [{"role": message.role, "content": message.content} for message in messages]
        reply = await self._server.ask("/apply-template", {"messages": chat}, _Prompt)
        split = [await self._tokenize(text) for text in given]
        async with self._server.prompting:
            first = await self._find_likeliest([reply.prompt], slot, _LIKELIEST)
            likeliest = first.likeliest
            weights = [
                (likeliest[tokens[0].id],)
                if len(tokens) == 1 and tokens[0].id in likeliest
                else await self._force([reply.prompt], tokens, slot)
                for tokens in split
            ]
        return _make_completion(weights, prompt_tokens=first.tokens_evaluated)

    async def weigh_texts(self, given: Sequence[str], slot: int) -> Completion:
        """Score each text by itself, window by window."""
        weights = []
        for text in given:
            tokens = await self._tokenize(text)
            start, context = await self._read_text_start()
            logprobs: list[float] = []
            for before, wanted in windows(start, tokens, context - _MARGIN):
                prompt: list[str | int] = [token.id for token in before]
                if is_computed := len(prompt) > 1:
                    async with self._server.prompting:
                        body = {**_make_body(prompt, slot), "n_predict": 0}
                        await self._server.ask("/completion", body, _Generation)
                logprobs += await self._force(prompt, wanted, slot, is_computed=is_computed)
            weights.append(tuple(logprobs))
        return _make_completion(weights)

    async def _force(
        self, prompt: list[str | int], tokens: list[Piece], slot: int, *, is_computed: bool = False
    ) -> tuple[float, ...]:
        """Return the log-probability of each token after the prompt."""
        wanted = [token.id for token in tokens]
        body = {
            **_make_body(prompt, slot, is_computed=is_computed),
            "n_predict": len(tokens),
            "n_probs": 1,
            "return_tokens": True,
            "grammar": _GRAMMAR_START + " ".join(f"<[{token}]>" for token in wanted),
        }
        reply = await self._server.ask("/completion", body, _Generation)
        if reply.tokens != wanted:
            raise ModelError(
                "context",
                f"only {len(reply.tokens)} of {len(tokens)} tokens could be scored: the context "
                "is full",
                hint="-p context=N allows more, up to the model's limit",
            )
        generated = iter(reply.completion_probabilities)
        known = [next(generated, None) if whole else None for whole in whole_at(tokens)]
        return tuple(
            [
                token.logprob
                if token is not None and token.id == wanted_id
                else await self._look_up([*prompt, *wanted[:place]], wanted_id, slot)
                for place, (token, wanted_id) in enumerate(zip(known, wanted, strict=True))
            ]
        )

    async def _look_up(self, before: list[str | int], token: int, slot: int) -> float:
        for most in (_LIKELIEST, _ALL):
            reply = await self._find_likeliest(before, slot, most, is_computed=True)
            likeliest = reply.likeliest
            if token in likeliest:
                return likeliest[token]
        raise ModelError("wrong_shape", f"llama.cpp returned no probability for the token {token}")

    async def _find_likeliest(
        self, before: list[str | int], slot: int, most: int, *, is_computed: bool = False
    ) -> _Generation:
        """Return the likeliest tokens after a prompt; the generated one is a complete letter."""
        if self._letter is None:
            self._letter = (await self._tokenize("a"))[0].id
        body = {
            **_make_body(before, slot, is_computed=is_computed),
            "n_predict": 1,
            "n_probs": most,
            "logit_bias": [[self._letter, _SURELY]],
        }
        return await self._server.ask("/completion", body, _Generation)

    async def _tokenize(self, text: str) -> list[Piece]:
        body = {"content": text, "add_special": False, "parse_special": False, "with_pieces": True}
        tokens = (await self._server.ask("/tokenize", body, _Pieces)).tokens
        if not tokens:
            raise ModelError("bad_request", "an empty string has no likelihood")
        return tokens

    async def _read_text_start(self) -> tuple[list[Piece], int]:
        """Return the first token of every text, if there is one, and the size of the context."""
        if self._text_start is None:
            props = await self._server.ask("/props", None, _Props)
            first = props.bos_token or props.eos_token
            body = {"content": first, "add_special": False, "parse_special": True}
            ids = (await self._server.ask("/tokenize", body, _TokenIds)).tokens if first else []
            context = self._server.spec.settings.context
            trained = props.default_generation_settings.n_ctx or context
            self._text_start = [Piece(token, "") for token in ids], min(trained, context)
        return self._text_start


def whole_at(tokens: Sequence[Piece]) -> Iterator[bool]:
    """Yield per token whether it completes a character: only then is its probability reported."""
    decoder = getincrementaldecoder("utf-8")(errors="replace")
    for token in tokens:
        decoder.decode(token.content)
        yield not decoder.getstate()[0]


def windows(start: list[T], tokens: list[T], context: int) -> Iterator[tuple[list[T], list[T]]]:
    """Yield context tokens, and the tokens to score after them: every token once, in order.

    `start` comes before the first token; without it, that token is not scored.
    """
    whole = [*start, *tokens]
    half = context // 2
    ends = [min(len(whole), context), *range(context + half, len(whole) + half, half)]
    for begin, end in pairwise([len(start) or 1, *ends]):
        last = min(end, len(whole))
        if begin < last:
            yield whole[max(0, last - context) : begin], whole[begin:last]


def _make_body(prompt: list[str | int], slot: int, *, is_computed: bool = False) -> dict[str, Any]:
    """Return a request without sampling, computed anew unless its prompt `is_computed`."""
    return {
        "prompt": prompt,
        "id_slot": slot,
        "cache_prompt": is_computed,
        "temperature": 0,
        "samplers": [],
    }


def _make_completion(weights: list[tuple[float, ...]], prompt_tokens: int = 0) -> Completion:
    usage = make_usage(prompt_tokens + sum(map(len, weights)), 0, cost=0.0)
    return Completion(text="", usage=usage, given=tuple(weights))
