"""A local model as the engine asks it: answers with log-probabilities, and weighs given ones.

An answer goes through the chat template of the file. A given answer is weighed by making the model
say it: a grammar of its tokens leaves no choice, and the probabilities are those before it. It is
split into tokens by itself, as it would be if the model said it after the prompt. Answers of one
token, such as the letters of options, are all read off the prompt's own last position, at the price
of one.

A text that is given without a prompt is weighed after the token that begins all texts (`bos`; where
the model has none, all tokens but the first). What is longer than the context is weighed in
windows: each token after at least half a context of those before it.

The same question has the same answer, to the last digit, whatever is asked beside it and in however
many threads. llama.cpp computes what is under way together, and digits of a probability depend on
whether one token of a sequence was computed at a time, or several. So a prompt is computed by
itself, with nothing of it taken from an earlier one, and what follows token by token.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.clients import answers, openai
from evalwright.clients.llama.server import Server, Spec, Tell, join
from evalwright.clients.llama.settings import NEVER, Running
from evalwright.clients.llama.weights import Weights
from evalwright.clients.parameters import more
from evalwright.errors import ModelError
from evalwright.types import Completion, Request, Usage

VERSION = 1
"""Of the way a model is asked: grows with every change that could move an answer."""
_CHAT = "/v1/chat/completions"
_LIKELIEST = 1000
"""Tokens whose probabilities are asked for at once."""
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
    tokens_evaluated: int = 0

    @property
    def likeliest(self) -> list[Token]:
        """In the place of the first token."""
        first = self.completion_probabilities[:1]
        return [token for said in first for token in said.top_logprobs]


class Split(Struct, frozen=True):
    """A text in tokens."""

    tokens: list[int]


class Rendered(Struct, frozen=True):
    """A conversation in the words of the model's template."""

    prompt: str


class Props(Struct, frozen=True):
    """What a loaded model says of itself."""

    bos_token: str = ""


_forced = msgspec.json.Decoder(Forced)
_split = msgspec.json.Decoder(Split)
_rendered = msgspec.json.Decoder(Rendered)
_props = msgspec.json.Decoder(Props)


class Llama:
    """A model in a GGUF file."""

    caveat = ""
    weighs = True

    def __init__(
        self,
        name: str,
        weights: Weights,
        running: Running,
        parameters: dict[str, Any],
        *,
        engine: str,
        tell: Tell,
    ) -> None:
        """`engine` is the version of llama.cpp: another may answer otherwise."""
        facts = {
            "file": weights.digest,
            "engine": engine,
            "version": VERSION,
            "context": running.context,
            "parameters": parameters,
        }
        self.fingerprint = msgspec.json.encode(facts, order="sorted").decode()
        self.slots = running.slots
        self._spec = Spec(
            f"local/{name}",
            str(weights.path),
            weights.size,
            running.slots,
            running.context,
            running.threads,
            running.total_timeout_s,
        )
        self._parameters = parameters
        self._tell = tell
        self._server: Server | None = None
        self._start: list[int] | None = None

    async def complete(self, request: Request) -> Completion:
        """One answer, or the weights of those that are given."""
        if request.task == "embeddings":
            raise ModelError(
                "unsupported",
                f"{self._spec.name} is for chat: it makes no embeddings",
                hint="`local/wordllama` does",
            )
        keys = more(request, never=NEVER)
        if self._server is None:
            self._server = join(self._spec, self._tell)
        async with self._server.slot() as slot:
            if not request.given:
                body = {**self._parameters, **keys, "messages": request.messages, "id_slot": slot}
                return await self._answer(self._server, request, body)
            if not request.messages:
                return await self._read(self._server, request.given, slot)
            return await self._weigh(self._server, request, slot)

    async def close(self) -> None:
        """Leave the server, which ends with the last who does."""
        server, self._server = self._server, None
        if server is not None:
            await server.leave()

    async def _answer(self, server: Server, request: Request, body: dict[str, Any]) -> Completion:
        if body["logprobs"]:
            body.setdefault("top_logprobs", 1)  # else it lists twenty a token
        if isinstance(seed := body["seed"], int):
            body["seed"] = seed + request.trial
        if not body["cache_prompt"]:
            async with server.prompting:
                await server.ask(_CHAT, {**body, "max_tokens": 0}, openai.decoder)
            body["cache_prompt"] = True  # it is there now, computed by itself
        reply = await server.ask(_CHAT, body, openai.decoder)
        if not reply.choices:
            raise ModelError("empty", "the reply has no choices")
        choice, counted = reply.choices[0], reply.usage or openai.Counted()
        usage = Usage(
            requests=1,
            prompt_tokens=counted.prompt_tokens or 0,
            completion_tokens=counted.completion_tokens or 0,
            cost=0.0,
        )
        called = choice.message.tool_calls
        found = Completion(
            text=openai.text_of(choice.message),
            finish=openai.FINISHES.get(choice.finish_reason, "other"),
            usage=usage,
            logprobs=openai.logprobs_of(choice.logprobs) if choice.logprobs else None,
            output=openai.output_of(choice, usage) if called else None,
        )
        calls = map(openai.call_of, called or ())
        return answers.answer(found, calls=calls, takes_all=request.takes_all)

    async def _weigh(self, server: Server, request: Request, slot: int) -> Completion:
        """Each given answer after the prompt: those of one token at once, the others alone."""
        said = [{"role": one.role, "content": one.content} for one in request.messages]
        prompt = (await server.ask("/apply-template", {"messages": said}, _rendered)).prompt
        split = [await self._tokens(server, text) for text in request.given]
        body = {**_forcing(prompt, slot), "n_predict": 1, "n_probs": _LIKELIEST}
        async with server.prompting:
            first = await server.ask("/completion", body, _forced)
            likely = {one.id: one.logprob for one in first.likeliest}
            weighed = [
                (likely[tokens[0]],)
                if len(tokens) == 1 and tokens[0] in likely
                else await self._force(server, prompt, tokens, slot)
                for tokens in split
            ]
        usage = Usage(
            requests=1, prompt_tokens=first.tokens_evaluated + sum(map(len, weighed)), cost=0.0
        )
        return Completion(text="", usage=usage, given=tuple(weighed))

    async def _read(self, server: Server, texts: Sequence[str], slot: int) -> Completion:
        """Each text by itself, window after window."""
        weighed = []
        for text in texts:
            tokens = await self._tokens(server, text)
            start = await self._first(server)
            known: list[float] = []
            for before, wanted in windows(start, tokens, self._spec.context - _MARGIN):
                if len(before) > 1:
                    async with server.prompting:
                        unsaid = {**_forcing(before, slot), "n_predict": 0}
                        await server.ask("/completion", unsaid, _forced)
                known += await self._force(server, before, wanted, slot, computed=len(before) > 1)
            weighed.append(tuple(known))
        usage = Usage(requests=1, prompt_tokens=sum(map(len, weighed)), cost=0.0)
        return Completion(text="", usage=usage, given=tuple(weighed))

    async def _force(
        self,
        server: Server,
        prompt: str | list[int],
        tokens: list[int],
        slot: int,
        *,
        computed: bool = False,
    ) -> tuple[float, ...]:
        """The log-probability of each token, when it is said after the prompt."""
        body = {
            **_forcing(prompt, slot),
            "cache_prompt": computed,
            "n_predict": len(tokens),
            "n_probs": 1,
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens),
        }
        said = (await server.ask("/completion", body, _forced)).completion_probabilities
        if [one.id for one in said] != tokens:
            raise ModelError(
                "context",
                f"only {len(said)} of {len(tokens)} tokens could be weighed: the context is full",
                hint="-p context=N allows more",
            )
        return tuple([one.logprob for one in said])

    async def _tokens(self, server: Server, text: str) -> list[int]:
        body = {"content": text, "add_special": False, "parse_special": False}
        tokens = (await server.ask("/tokenize", body, _split)).tokens
        if not tokens:
            raise ModelError("bad_request", "an empty text cannot be weighed")
        return tokens

    async def _first(self, server: Server) -> list[int]:
        """What a text begins after: the model's own first token, where it has one."""
        if self._start is None:
            bos = (await server.ask("/props", None, _props)).bos_token
            body = {"content": bos, "add_special": False, "parse_special": True}
            self._start = (await server.ask("/tokenize", body, _split)).tokens if bos else []
        return self._start


def _forcing(prompt: str | list[int], slot: int) -> dict[str, Any]:
    """A request that is computed from its first token on, and draws nothing."""
    return {
        "prompt": prompt,
        "id_slot": slot,
        "cache_prompt": False,
        "temperature": 0,
        "samplers": [],
    }


def windows(
    start: list[int], tokens: list[int], context: int
) -> Iterator[tuple[list[int], list[int]]]:
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
