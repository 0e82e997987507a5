"""The embeddings API, as OpenAI has it and others have it too: `/embeddings` beside the chat.

A request for `embeddings` brings a text, a list of texts, or an object with them under `input`.
Of the generation parameters only `dimensions` and `user` are sent here: the others are for chat.
"""

from typing import Any

import msgspec

from evalwright.clients import answers
from evalwright.clients.http import Endpoint
from evalwright.clients.texts import asked_for
from evalwright.errors import ModelError
from evalwright.types import Completion, Request

_SENT = ("dimensions", "user")
_encoder = msgspec.json.Encoder()


class Vector(msgspec.Struct, frozen=True):
    """One embedding."""

    embedding: list[float]
    index: int = 0


class Counted(msgspec.Struct, frozen=True):
    """The tokens."""

    prompt_tokens: answers.Tokens = 0


class Reply(msgspec.Struct, frozen=True):
    """What comes back, as far as it is needed."""

    data: list[Vector]
    usage: Counted | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(Reply)


class Embeddings:
    """A model behind an embeddings API."""

    def __init__(self, name: str, endpoint: Endpoint, parameters: dict[str, Any]) -> None:
        self._endpoint = endpoint
        self._body = {
            "model": name,
            **{one: parameters[one] for one in _SENT if one in parameters},
        }

    async def complete(self, request: Request) -> Completion:
        """One embedding a text, in the order of the texts."""
        texts, keys = asked_for(request)
        body = {**self._body, **keys, "input": texts, "encoding_format": "float"}
        reply = await self._endpoint.ask(_encoder.encode(body), _decoder)
        if reply.error:
            raise self._endpoint.error_object(reply.error)
        if len(reply.data) != len(texts):
            raise ModelError(
                "wrong_shape",
                f"expected {len(texts)} embeddings, one a text, got {len(reply.data)}",
            )
        usage = answers.usage(reply.usage.prompt_tokens if reply.usage else 0, 0)
        vectors = [one.embedding for one in sorted(reply.data, key=lambda one: one.index)]
        output = {"embeddings": vectors, "usage": answers.counted(usage)}
        return Completion(text="", usage=usage, output=output)

    async def close(self) -> None:
        """Let go of connections."""
        await self._endpoint.close()
