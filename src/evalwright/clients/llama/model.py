"""A local model that answers with log-probabilities and scores given answers by likelihood.

Chats use the chat template in the model file. Log-probabilities exist only for tokens that complete
a character, because llama.cpp does not report the others.

The same request has the same answer, to the last digit, independent of concurrent requests and the
number of threads. llama.cpp batches concurrent requests, and the last digits of a probability
depend on how many tokens of a sequence are computed at a time. Each prompt is therefore computed
alone and from its start, and the tokens after it are computed one at a time.

To score a given answer, a grammar forces the model to generate the answer's tokens. The
probabilities are those before the grammar is applied. The answer is tokenized separately from the
prompt. Answers of one token, such as the letters of options, are all read from the last position of
the prompt, in one request. A token that ends inside a character is looked up separately, which
takes longer.

A text without a prompt is scored after the model's start token (`bos`, or else `eos`; if the model
has neither, the first token is not scored). A text longer than the context is scored in windows:
each token follows at least half a context of preceding tokens.
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
"""Increase it with every change to the requests that could change an answer."""
T = TypeVar("T")

_CHAT = "/v1/chat/completions"
_LIKELIEST = 1000
"""Number of tokens whose probabilities are requested at a time."""
_ALL = 1_000_000
"""Larger than the size of any vocabulary."""
_SURELY = 1e6
_GRAMMAR_START = "%llguidance {}\nstart: "
"""Start of a token grammar. llama.cpp's own format does not support tokens inside characters."""
_MARGIN = 8
"""Number of tokens at the end of a context that are never used."""


class Llama:
    """A model in a GGUF file."""

    caveat = ""
    weighs = True

    def __init__(
        self, spec: ServerSpec, parameters: dict[str, Any], *, digest: str, engine: str, tell: Tell
    ) -> None:
        """`digest` of the file and `engine`, the version of llama.cpp, affect the answers."""
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
        """Generate an answer, or score the given answers."""
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
        """Leave the server, which ends when its last user leaves."""
        server, self._server, self._weigher = self._server, None, None
        if server is not None:
            await server.leave()

    async def _answer(
        self, server: LlamaServer, request: Request, body: dict[str, Any]
    ) -> Completion:
        if body["logprobs"]:
            body.setdefault("top_logprobs", 1)  # by default, llama.cpp lists twenty per token
        if isinstance(seed := body["seed"], int):
            body["seed"] = seed + request.trial
        if not body["cache_prompt"]:
            async with server.prompting:
                await server.ask(_CHAT, {**body, "max_tokens": 0}, openai.ChatReply)
            body["cache_prompt"] = True  # the prompt has now been computed alone
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
    """The most likely tokens at this position."""


class _Generation(Struct, frozen=True):
    completion_probabilities: list[_GeneratedToken] = []
    """Log-probabilities of the tokens that complete a character."""
    tokens: list[int] = []
    tokens_evaluated: int = 0

    @property
    def likeliest(self) -> dict[int, float]:
        """Log-probabilities of the most likely tokens at the first position."""
        first = self.completion_probabilities[:1]
        return {token.id: token.logprob for place in first for token in place.top_logprobs}


class _TokenIds(Struct, frozen=True):
    tokens: list[int]


class Piece(Struct, frozen=True, gc=False):
    """A token and its text, or bytes if the token is part of a character."""

    id: int
    piece: str | list[int]

    @property
    def content(self) -> bytes:
        """The token's bytes."""
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
        """Score each answer after the prompt: one-token answers together, the others separately."""
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
        """Score each text separately, in windows."""
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
                hint="increase `-p context=N`, up to the model's limit",
            )
        generated = iter(reply.completion_probabilities)
        is_reported = completes_character(tokens)
        known = [next(generated, None) if reported else None for reported in is_reported]
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
        """Return the most likely tokens after a prompt, and generate one complete letter."""
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
        """Return the start token, if the model has one, and the size of the context."""
        if self._text_start is None:
            props = await self._server.ask("/props", None, _Props)
            first = props.bos_token or props.eos_token
            body = {"content": first, "add_special": False, "parse_special": True}
            ids = (await self._server.ask("/tokenize", body, _TokenIds)).tokens if first else []
            context = self._server.spec.settings.context
            trained = props.default_generation_settings.n_ctx or context
            self._text_start = [Piece(token, "") for token in ids], min(trained, context)
        return self._text_start


def completes_character(tokens: Sequence[Piece]) -> Iterator[bool]:
    """Yield whether each token completes a character; only then is its probability reported."""
    decoder = getincrementaldecoder("utf-8")(errors="replace")
    for token in tokens:
        decoder.decode(token.content)
        yield not decoder.getstate()[0]


def windows(start: list[T], tokens: list[T], context: int) -> Iterator[tuple[list[T], list[T]]]:
    """Yield windows of context tokens and the tokens to score after them, each token once.

    `start` precedes the first token. If it is empty, the first token is not scored.
    """
    sequence = [*start, *tokens]
    half = context // 2
    ends = [min(len(sequence), context), *range(context + half, len(sequence) + half, half)]
    for begin, end in pairwise([len(start) or 1, *ends]):
        last = min(end, len(sequence))
        if begin < last:
            yield sequence[max(0, last - context) : begin], sequence[begin:last]


def _make_body(prompt: list[str | int], slot: int, *, is_computed: bool = False) -> dict[str, Any]:
    """Return a request without sampling; the prompt is recomputed unless it `is_computed`."""
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
