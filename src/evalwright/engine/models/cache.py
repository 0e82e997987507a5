"""Reuse stored replies for identical requests.

The key has everything that can change the answer: the model's name, its fingerprint (endpoint and
parameters), the task, the messages, other keys of the request, answers to score, which replies
count as answers, and the trial.
It does not include the sample: two samples with the same request share an answer.

A hit reports the tokens of the answer, cost 0 and requests 0: nothing was sent or paid.

A reply of a custom connection or function whose body is not JSON is an answer if its adapter takes
it, but is not stored: it may be the error page of a proxy.

Holds:      identical concurrent requests are sent once; a failure is never stored,
            and no request inherits the failure or the cancellation of another.
Does not:   expire. Delete the file to drop its answers.
"""

import asyncio
from hashlib import blake2b

import msgspec

from evalwright.engine.models.base import Counters, ModelWrapper
from evalwright.ports import Model, ReplyCache
from evalwright.types import Completion, Request, Usage

_VERSION = 2
"""Format version of key and value: replies of another version are not found."""
_encode = msgspec.msgpack.Encoder().encode
_as_json = msgspec.json.Encoder(order="sorted").encode
_decode_json = msgspec.json.Decoder(msgspec.Raw).decode
_decode = msgspec.msgpack.Decoder(Completion).decode


class MemoryReplyCache:
    """Stores replies in memory."""

    def __init__(self) -> None:
        self.replies: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the stored reply."""
        return self.replies.get(key)

    def save(self, key: bytes, value: bytes) -> None:
        """Store a reply."""
        self.replies[key] = value


class CachedModel(ModelWrapper):
    """Queries the model only for replies that are not stored."""

    def __init__(
        self, model: Model, name: str, *, reply_cache: ReplyCache, counters: Counters | None = None
    ) -> None:
        super().__init__(model)
        self._reply_cache = reply_cache
        self._counters = counters or Counters()
        self._asking: dict[bytes, asyncio.Event] = {}
        self._begun = blake2b(digest_size=32)
        for part in (str(_VERSION), name, model.fingerprint):
            self._begun.update(_with_length(part))

    async def complete(self, request: Request) -> Completion:
        """Return the stored answer, or a new one."""
        key = self._key(request)
        while (completion := self._load(key)) is None:
            if (asking := self._asking.get(key)) is None:
                return await self._first(key, request)
            await asking.wait()  # if that fails, the next of those who wait is the first
        self._counters.cache_hits += 1
        return completion

    async def _first(self, key: bytes, request: Request) -> Completion:
        answered = self._asking[key] = asyncio.Event()
        try:
            completion = await self._ask(request)
            self._save(key, completion)
            return completion
        finally:
            del self._asking[key]
            answered.set()

    def _key(self, request: Request) -> bytes:
        digest = self._begun.copy()
        for message in request.messages:
            digest.update(_with_length(message.role))
            digest.update(_with_length(message.content))
            if message.tool_calls or message.tool_call_id or message.file_ids:
                digest.update(_with_length(_as_json(message).decode()))
        if request.task != "chat_completion" or request.input is not None:
            digest.update(_with_length(request.task))
            digest.update(_with_length(_as_json(request.input).decode()))
        for place in request.message_fields:
            digest.update(b"fields")
            digest.update(_with_length(_as_json(place).decode()))
        for text in request.given:
            digest.update(b"given")
            digest.update(_with_length(text))
        if request.takes_all:  # what may be kept for this one is a failure to others
            digest.update(b"all")
        digest.update(b"%d" % request.trial)
        return digest.digest()

    def _load(self, key: bytes) -> Completion | None:
        value = self._reply_cache.get(key)
        if value is None:
            return None
        try:
            completion = _decode(value)
        except msgspec.MsgspecError:  # damaged: ask again, and put it right
            return None
        usage = Usage(
            requests=0,
            prompt_tokens=completion.usage.prompt_tokens,
            completion_tokens=completion.usage.completion_tokens,
            cost=0.0,
        )
        return msgspec.structs.replace(completion, usage=usage)

    def _save(self, key: bytes, completion: Completion) -> None:
        if not _has_json_body(completion):
            return
        try:
            value = _encode(completion)
        except (UnicodeEncodeError, OverflowError):  # half a surrogate pair, a number too large:
            return  # an answer all the same
        self._reply_cache.save(key, value)


def _has_json_body(completion: Completion) -> bool:
    """Whether the body of the reply is JSON, if it is known."""
    if completion.bodies is None:
        return True
    try:
        _decode_json(completion.bodies[1])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _with_length(text: str) -> bytes:
    """Encode a text with its length, so that different lists of texts differ."""
    data = text.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(data), data)
