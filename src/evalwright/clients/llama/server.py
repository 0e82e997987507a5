"""The processes of a run: started when first asked, shared, started again, ended by the last.

Models that are the same file, run in the same way, share one process: a model that judges itself is
in memory once.

Holds:      at most as many requests at once as there are slots, the others wait here. A process
            that dies costs the samples in flight, and is started again; the third death stops the
            run, which can be gone on with. A file that cannot be loaded is tried once.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import aiohttp
import msgspec
from msgspec import Struct

from evalwright.clients.llama.process import Process, Spec, Tell, begin
from evalwright.errors import ModelError, Stopped

_MOST_DEATHS = 3
_BAD_REQUEST = 400

Reply = TypeVar("Reply")


class Refusal(Struct, frozen=True):
    """What llama.cpp says when it will not."""

    message: str = ""
    type: str = ""
    n_prompt_tokens: int = 0
    n_ctx: int = 0


class Refused(Struct, frozen=True):
    """The same, as it comes."""

    error: Refusal = Refusal()


_servers: WeakKeyDictionary[asyncio.AbstractEventLoop, "dict[Spec, Server]"] = WeakKeyDictionary()
_refused = msgspec.json.Decoder(Refused)


def join(spec: Spec, tell: Tell) -> "Server":
    """The server of this loop for that file; who has joined must `leave`."""
    servers = _servers.setdefault(asyncio.get_running_loop(), {})
    if spec not in servers:
        servers[spec] = Server(spec, tell)
    servers[spec].users += 1
    return servers[spec]


class Server:
    """One file, served; by one process after another, if they die."""

    def __init__(self, spec: Spec, tell: Tell) -> None:
        self.spec = spec
        self.users = 0
        self.busy = 0
        """Slots that are at work."""
        self.process: Process | None = None
        self.deaths = 0
        self.prompting = asyncio.Lock()
        """Held while a prompt is computed: see `model`."""
        self._tell = tell
        self._starting = asyncio.Lock()
        self._unusable: Stopped | None = None
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(spec.slots):
            self._free.put_nowait(slot)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """The number of one that is nobody else's meanwhile."""
        slot = await self._free.get()
        self.busy += 1
        try:
            yield slot
        finally:
            self.busy -= 1
            self._free.put_nowait(slot)

    async def ask(
        self, path: str, body: dict[str, Any] | None, decoder: msgspec.json.Decoder[Reply]
    ) -> Reply:
        """What it answers there; a `ModelError` tells why it does not. No body: it is looked up."""
        process = await self._running()
        try:
            status, raw = await process.exchange(path, body)
        except TimeoutError as error:
            raise ModelError(
                "timeout",
                f"no complete reply within {self.spec.timeout_s:g} s",
                hint="-p total_timeout_s=SECONDS allows more, -p max_tokens=N asks for less",
            ) from error
        except UnicodeEncodeError as error:
            raise ModelError(
                "bad_request", f"what is not Unicode cannot be sent: {error}"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise await self._died(process) from error
        if status >= _BAD_REQUEST:
            raise _why_not(raw)
        try:
            return decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ModelError("wrong_shape", f"llama.cpp answered otherwise: {error}") from error

    async def leave(self) -> None:
        """The last who leaves ends the process."""
        self.users -= 1
        if self.users <= 0:
            _servers.get(asyncio.get_running_loop(), {}).pop(self.spec, None)
            async with self._starting:
                process, self.process = self.process, None
                if process is not None:
                    await process.end()

    async def _running(self) -> Process:
        process = self.process
        if process is not None:
            return process
        async with self._starting:  # one loads, the others wait for it
            if self._unusable is not None:
                raise self._unusable
            if self.process is None:
                try:
                    self.process = await begin(self.spec, self._tell)
                except Stopped as error:
                    self._unusable = error
                    raise
            return self.process

    async def _died(self, process: Process) -> ModelError | Stopped:
        """It is gone, or as good as that; the next who asks starts another."""
        if self.process is not process:  # somebody else in flight was here first
            return ModelError("crashed", "the process of the model has died")
        self.process = None
        self.deaths += 1
        async with self._starting:  # a new one waits until the memory of this one is free
            try:
                said = await process.last_words()
            finally:
                await process.end()
        if self.deaths < _MOST_DEATHS:
            return ModelError("crashed", f"the process of the model has died: {said}")
        self._unusable = Stopped(
            f"{self.spec.name}: its process has died {self.deaths} times: {said}",
            hint="`-p slots=1` and `-p context=2048` take less memory",
        )
        return self._unusable


def _why_not(raw: bytes) -> ModelError:
    try:
        said = _refused.decode(raw).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = Refusal(raw[:200].decode(errors="replace"))
    if said.type == "exceed_context_size_error":
        return ModelError(
            "context",
            f"the prompt has {said.n_prompt_tokens} tokens, the context {said.n_ctx}",
            hint=f"-p context={1 << said.n_prompt_tokens.bit_length()}, if the model can",
        )
    return ModelError("bad_request", f"llama.cpp refuses: {said.message}")
