"""A local model as the engine asks it: answers with log-probabilities, and weighs given ones.

An answer goes through the chat template of the file. Its log-probabilities are those of the tokens
at whose end a character ends: llama.cpp does not tell the others.

The same question has the same answer, to the last digit, whatever is asked beside it and in however
many threads. llama.cpp computes what is under way together, and digits of a probability depend on
whether one token of a sequence was computed at a time, or several. So a prompt is computed by
itself, with nothing of it taken from an earlier one, and what follows token by token.
"""

from typing import Any

import msgspec

from evalwright.clients import openai
from evalwright.clients.llama.server import LlamaServer, ServerSpec, Tell, join
from evalwright.clients.llama.settings import NEVER, LlamaSettings
from evalwright.clients.llama.weighing import Weigher
from evalwright.clients.llama.weights import Weights
from evalwright.clients.parameters import chat_keys
from evalwright.clients.replies import FINISHES, check_completion
from evalwright.errors import ModelError
from evalwright.types import Completion, Request, Usage

VERSION = 1
"""Of the way a model is asked: grows with every change that could move an answer."""
_CHAT = "/v1/chat/completions"


class Llama:
    """A model in a GGUF file."""

    caveat = ""
    weighs = True

    def __init__(
        self,
        name: str,
        weights: Weights,
        settings: LlamaSettings,
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
            "context": settings.context,
            "parameters": parameters,
        }
        self.fingerprint = msgspec.json.encode(facts, order="sorted").decode()
        self.slots = settings.slots
        self._spec = ServerSpec(
            f"local/{name}",
            str(weights.path),
            weights.size,
            settings.slots,
            settings.context,
            settings.threads,
            settings.total_timeout_s,
        )
        self._parameters = parameters
        self._tell = tell
        self._server: LlamaServer | None = None
        self._weigher: Weigher | None = None

    async def complete(self, request: Request) -> Completion:
        """One answer, or the weights of those that are given."""
        if request.task == "embeddings":
            raise ModelError(
                "unsupported",
                f"{self._spec.name} is for chat: it makes no embeddings",
                hint="`local/wordllama` does",
            )
        keys = chat_keys(request, never=NEVER)
        if self._server is None:
            self._server = join(self._spec, self._tell)
        async with self._server.slot() as slot:
            if not request.given:
                body = {**self._parameters, **keys, "messages": request.messages, "id_slot": slot}
                return await self._answer(self._server, request, body)
            weigher = self._weigher = self._weigher or Weigher(self._server)
            if not request.messages:
                return await weigher.texts(request.given, slot)
            return await weigher.answers(request.messages, request.given, slot)

    async def close(self) -> None:
        """Leave the server, which ends with the last who does."""
        server, self._server, self._weigher = self._server, None, None
        if server is not None:
            await server.leave()

    async def _answer(
        self, server: LlamaServer, request: Request, body: dict[str, Any]
    ) -> Completion:
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
        choice, tokens = reply.choices[0], reply.usage or openai.ChatUsage()
        usage = Usage(
            requests=1,
            prompt_tokens=tokens.prompt_tokens or 0,
            completion_tokens=tokens.completion_tokens or 0,
            cost=0.0,
        )
        message = choice.message
        completion = Completion(
            text=message.text,
            finish=FINISHES.get(choice.finish_reason, "other"),
            usage=usage,
            logprobs=choice.logprobs.values if choice.logprobs else None,
            output=choice.make_output(usage) if message.tool_calls else None,
        )
        return check_completion(completion, calls=message.calls, takes_all=request.takes_all)
