"""How likely a given answer is: the model is made to say it.

A grammar of the answer's tokens leaves no choice, and the probabilities that come back are those
before the grammar. The answer is split into tokens by itself, as it would be if the model said it
after the prompt. Answers of one token, such as the letters of options, are all read off the last
position of the prompt, at the price of one. A token that ends inside a character is looked up by
itself, which takes longer: llama.cpp does not tell its probability.

A text that is given without a prompt is weighed after the token that begins all texts (`bos`, or
else `eos`; where the model has neither, all tokens but the first). What is longer than the context
is weighed in windows: each token after at least half a context of those before it.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from evalwright.clients.llama.server import LlamaServer
from evalwright.errors import ModelError
from evalwright.types import Completion, Message, Usage

T = TypeVar("T")

_LIKELIEST = 1000
"""Tokens whose probabilities are asked for at once."""
_ALL = 1_000_000
"""More than any model has."""
_SURELY = 1e6
_ONLY = "%llguidance {}\nstart: "
"""Begins a grammar of tokens. llama.cpp's own takes none that is a piece of a character."""
_MARGIN = 8
"""Tokens of a context that are left free: the last of it is never filled."""


class Token(Struct, frozen=True, gc=False):
    """One token, and how likely it was."""

    id: int
    logprob: float


class Said(Token, frozen=True, gc=False):
    """One that was said, and those that were likeliest in its place."""

    top_logprobs: list[Token] = []


class Forced(Struct, frozen=True):
    """What comes back when the model is made to say something."""

    completion_probabilities: list[Said] = []
    """Of the tokens at whose end a character ends: those inside of one are not told."""
    tokens: list[int] = []
    tokens_evaluated: int = 0

    @property
    def likeliest(self) -> list[Token]:
        """In the place of the first token."""
        first = self.completion_probabilities[:1]
        return [token for said in first for token in said.top_logprobs]


class Split(Struct, frozen=True):
    """A text in tokens."""

    tokens: list[int]


class Piece(Struct, frozen=True, gc=False):
    """A token, and what it stands for: text, or bytes where it is not the whole of a character."""

    id: int
    piece: str | list[int]

    @property
    def content(self) -> bytes:
        """Its bytes."""
        return self.piece.encode() if isinstance(self.piece, str) else bytes(self.piece)


class Pieces(Struct, frozen=True):
    """A text in tokens, with what each stands for."""

    tokens: list[Piece]


class Rendered(Struct, frozen=True):
    """A conversation in the words of the model's template."""

    prompt: str


class Asked(Struct, frozen=True):
    """What holds where a request says nothing."""

    n_ctx: int = 0


class Reading(NamedTuple):
    """How a text is read."""

    start: list[Piece]
    """What it begins after: the model's own first token, where it has one."""
    context: int
    """What there is of it: no more than the model was trained with."""


class Props(Struct, frozen=True):
    """What a loaded model says of itself."""

    bos_token: str = ""
    eos_token: str = ""
    default_generation_settings: Asked = Asked()


_forced = msgspec.json.Decoder(Forced)
_split = msgspec.json.Decoder(Split)
_pieces = msgspec.json.Decoder(Pieces)
_rendered = msgspec.json.Decoder(Rendered)
_props = msgspec.json.Decoder(Props)


class Weigher:
    """Weighs what is given, on a server."""

    def __init__(self, server: LlamaServer) -> None:
        self._server = server
        self._reading: Reading | None = None
        self._letter: int | None = None

    async def answers(
        self, messages: Sequence[Message], given: Sequence[str], slot: int
    ) -> Completion:
        """Each given answer after the prompt: those of one token at once, the others alone."""
        said = [{"role": one.role, "content": one.content} for one in messages]
        prompt = (await self._server.ask("/apply-template", {"messages": said}, _rendered)).prompt
        split = [await self._tokens(text) for text in given]
        async with self._server.prompting:
            first = await self._instead([prompt], slot, _LIKELIEST)
            likely = {one.id: one.logprob for one in first.likeliest}
            weighed = [
                (likely[tokens[0].id],)
                if len(tokens) == 1 and tokens[0].id in likely
                else await self._force([prompt], tokens, slot)
                for tokens in split
            ]
        usage = Usage(
            requests=1, prompt_tokens=first.tokens_evaluated + sum(map(len, weighed)), cost=0.0
        )
        return Completion(text="", usage=usage, given=tuple(weighed))

    async def texts(self, given: Sequence[str], slot: int) -> Completion:
        """Each text by itself, window after window."""
        weighed = []
        for text in given:
            tokens = await self._tokens(text)
            start, context = await self._begins()
            known: list[float] = []
            for before, wanted in windows(start, tokens, context - _MARGIN):
                prompt: list[str | int] = [one.id for one in before]
                if several := len(prompt) > 1:
                    async with self._server.prompting:
                        unsaid = {**_forcing(prompt, slot), "n_predict": 0}
                        await self._server.ask("/completion", unsaid, _forced)
                known += await self._force(prompt, wanted, slot, computed=several)
            weighed.append(tuple(known))
        usage = Usage(requests=1, prompt_tokens=sum(map(len, weighed)), cost=0.0)
        return Completion(text="", usage=usage, given=tuple(weighed))

    async def _force(
        self,
        prompt: list[str | int],
        tokens: list[Piece],
        slot: int,
        *,
        computed: bool = False,
    ) -> tuple[float, ...]:
        """The log-probability of each token, when it is said after the prompt."""
        wanted = [token.id for token in tokens]
        body = {
            **_forcing(prompt, slot),
            "cache_prompt": computed,
            "n_predict": len(tokens),
            "n_probs": 1,
            "return_tokens": True,
            "grammar": _ONLY + " ".join(f"<[{token}]>" for token in wanted),
        }
        found = await self._server.ask("/completion", body, _forced)
        if found.tokens != wanted:
            raise ModelError(
                "context",
                f"only {len(found.tokens)} of {len(tokens)} tokens could be weighed: "
                "the context is full",
                hint="-p context=N allows more, as far as the model can",
            )
        told = iter(found.completion_probabilities)
        known = [next(told, None) if whole else None for whole in whole_at(tokens)]
        return tuple(
            [
                one.logprob
                if one is not None and one.id == token
                else await self._looked_up([*prompt, *wanted[:place]], token, slot)
                for place, (one, token) in enumerate(zip(known, wanted, strict=True))
            ]
        )

    async def _looked_up(self, before: list[str | int], token: int, slot: int) -> float:
        """The same of one token, in a list of those that could be said in its place."""
        for most in (_LIKELIEST, _ALL):
            found = await self._instead(before, slot, most, computed=True)
            for one in found.likeliest:
                if one.id == token:
                    return one.logprob
        raise ModelError("wrong_shape", f"llama.cpp says nothing of the token {token}")

    async def _instead(
        self,
        before: list[str | int],
        slot: int,
        most: int,
        *,
        computed: bool = False,
    ) -> Forced:
        """The likeliest tokens after a prompt; what is said there is one that is a whole letter."""
        if self._letter is None:
            self._letter = (await self._tokens("a"))[0].id
        body = {
            **_forcing(before, slot),
            "cache_prompt": computed,
            "n_predict": 1,
            "n_probs": most,
            "logit_bias": [[self._letter, _SURELY]],
        }
        return await self._server.ask("/completion", body, _forced)

    async def _tokens(self, text: str) -> list[Piece]:
        body = {"content": text, "add_special": False, "parse_special": False, "with_pieces": True}
        tokens = (await self._server.ask("/tokenize", body, _pieces)).tokens
        if not tokens:
            raise ModelError("bad_request", "an empty text cannot be weighed")
        return tokens

    async def _begins(self) -> Reading:
        if self._reading is None:
            known = await self._server.ask("/props", None, _props)
            first = known.bos_token or known.eos_token
            body = {"content": first, "add_special": False, "parse_special": True}
            marks = (await self._server.ask("/tokenize", body, _split)).tokens if first else []
            start = [Piece(mark, "") for mark in marks]
            most = known.default_generation_settings.n_ctx or self._server.spec.context
            self._reading = Reading(start, min(most, self._server.spec.context))
        return self._reading


def whole_at(tokens: Sequence[Piece]) -> Iterator[bool]:
    """Whether a character ends with each token: its probability is told then, and only then."""
    decoder = getincrementaldecoder("utf-8")(errors="replace")
    for token in tokens:
        decoder.decode(token.content)
        yield not decoder.getstate()[0]


def _forcing(prompt: list[str | int], slot: int) -> dict[str, Any]:
    """A request that is computed from its first token on, and draws nothing."""
    return {
        "prompt": prompt,
        "id_slot": slot,
        "cache_prompt": False,
        "temperature": 0,
        "samplers": [],
    }


def windows(start: list[T], tokens: list[T], context: int) -> Iterator[tuple[list[T], list[T]]]:
    """What is known, and what is to be weighed after it: every token once, in their order.

    `start` is what comes before the first token; with none, that token is known and not weighed.
    """
    known = len(start)
    whole = [*start, *tokens]
    if not known:
        known = 1
    half = context // 2
    ends = [min(len(whole), context), *range(context + half, len(whole) + half, half)]
    for begin, end in pairwise([known, *ends]):
        last = min(end, len(whole))
        if begin < last:
            yield whole[max(0, last - context) : begin], whole[begin:last]
