"""llama.cpp in a process of its own, asked over a socket that nobody else can reach.

Models of a run that are the same file, run in the same way, share one process: a model that judges
itself is in memory once. It is started when it is first asked, and ended by the last who leaves.

Why a process: loading holds Python's lock for as long as it takes, an assertion that fails ends the
process it is in, and what llama.cpp says of a broken file goes to the standard error of all.

Holds:      a socket in a folder of this user's; an environment without keys; at most as many
            requests at once as there are slots, the others wait here; the end of the process with
            ours, also when ours is killed. A process that dies costs the samples in flight, and is
            started again; the third death stops the run, which can be gone on with.
Does not:   hold llama.cpp itself to anything: it reads the file with the rights of the user.
"""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import aiohttp
import msgspec
from msgspec import Struct

from evalwright.clients import answers
from evalwright.clients.llama.threads import idle_threads
from evalwright.errors import ModelError, Stopped

HOST = Path(__file__).with_name("host.py")
_MOST_DEATHS = 3
_TELL_EVERY_S = 2.0
_END_S = 5.0
_LONGEST_SOCKET = 100
"""Bytes of a path; the system takes 107."""
_MOST_LOG = 2000
_SHOWN_LINES = 3
_BAD_REQUEST = 400
_INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TMPDIR"),
    *("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES", "VIRTUAL_ENV"),
)
"""What llama.cpp may need of the environment. No key is among it."""

Reply = TypeVar("Reply")
Tell = Callable[[str], None]


class Spec(Struct, frozen=True):
    """A file, and how it is run. Equal ones share a process."""

    name: str
    """`local/smollm2`."""
    path: str
    size: int
    slots: int
    context: int
    threads: int | None
    """None: as many as there are idle cores."""
    timeout_s: float


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
_encode = msgspec.json.Encoder().encode
_refused = msgspec.json.Decoder(Refused)


def join(spec: Spec, tell: Tell) -> "Server":
    """The server of this loop for that file; who has joined must `leave`."""
    servers = _servers.setdefault(asyncio.get_running_loop(), {})
    if spec not in servers:
        servers[spec] = Server(spec, tell)
    servers[spec].users += 1
    return servers[spec]


class Server:
    """One process, and the way to ask it."""

    def __init__(self, spec: Spec, tell: Tell) -> None:
        self.spec = spec
        self.users = 0
        self.busy = 0
        """Slots that are at work."""
        self._tell = tell
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self._folder = ""
        self._deaths = 0
        self._starting = asyncio.Lock()
        self.prompting = asyncio.Lock()
        """Held while a prompt is computed: see `model`."""
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
        session = await self._running()
        method = "GET" if body is None else "POST"
        data = None if body is None else _encode(body)
        try:
            async with session.request(method, f"http://llama{path}", data=data) as response:
                raw = await response.read()
                status = response.status
        except TimeoutError as error:
            raise ModelError(
                "timeout",
                f"no complete reply within {self.spec.timeout_s:g} s",
                hint="-p total_timeout_s=SECONDS allows more, -p max_tokens=N asks for less",
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise await self._died(error) from error
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
            await self._end()

    async def _running(self) -> aiohttp.ClientSession:
        while self._session is None:
            if self._starting.locked():  # one loads, the others wait for it
                async with self._starting:
                    continue
            async with self._starting:
                await self._start()
        return self._session

    async def _start(self) -> None:
        spec, started = self.spec, perf_counter()
        threads = spec.threads or await idle_threads(os.environ)
        self._folder = _own_folder()
        socket = os.path.join(self._folder, "llama.sock")  # noqa: PTH118 - a string is wanted
        with open(self._log, "wb") as log:  # noqa: ASYNC230, PTH123 - nothing waits on a new file
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", str(HOST)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={name: os.environ[name] for name in _INHERITED if name in os.environ},
                start_new_session=True,  # Ctrl-C is for us: what is in flight is waited for
            )
        told = {
            "model": spec.path,
            "socket": socket,
            "threads": threads,
            "slots": spec.slots,
            "context": spec.context,
        }
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.write(_encode(told) + b"\n")
        if not await self._loaded(process):
            raise await self._not_loaded()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(socket, limit=0),
            timeout=aiohttp.ClientTimeout(total=spec.timeout_s),
            headers={"Content-Type": "application/json"},
        )
        slots = f"{spec.slots} slot{'s' * (spec.slots > 1)}"
        used = f"{threads} thread{'s' * (threads > 1)}"
        took = perf_counter() - started
        self._tell(f"{spec.name}: {_size(spec.size)} loaded in {took:.1f} s, {slots}, {used}")

    async def _loaded(self, process: asyncio.subprocess.Process) -> bool:
        """Whether it has said that it is ready; meanwhile, how far it has come."""
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        ready = asyncio.ensure_future(process.stdout.readline())
        try:
            while not (await asyncio.wait([ready], timeout=_TELL_EVERY_S))[0]:
                self._tell(f"{self.spec.name}: loading, {_progress(process.pid, self.spec.size)}")
            return ready.result() == b"ready\n"
        finally:
            ready.cancel()

    async def _not_loaded(self) -> Stopped:
        said = await self._last_words()
        await self._end()
        return Stopped(
            f"{self.spec.name} could not be loaded: {said}",
            hint="is the file whole, and does it fit into memory? `-p slots=1` and "
            "`-p context=2048` take less",
        )

    async def _died(self, error: Exception) -> ModelError | Stopped:
        """The process is gone, or as good as that; the next who asks starts another."""
        if self._session is None:  # somebody else in flight was here first
            return ModelError("crashed", "the process of the model has died")
        self._deaths += 1
        said = await self._last_words() or str(error)
        await self._end()
        if self._deaths >= _MOST_DEATHS:
            return Stopped(
                f"{self.spec.name}: its process has died {self._deaths} times: {said}",
                hint="`-p slots=1` and `-p context=2048` take less memory",
            )
        return ModelError("crashed", f"the process of the model has died: {said}")

    async def _last_words(self) -> str:
        """How it ended, and what it said last."""
        process = self._process
        ended = ""
        if process is not None:
            with suppress(TimeoutError):
                ended = _ended(await asyncio.wait_for(process.wait(), _END_S))
        return "; ".join([*_last_lines(Path(self._log)), *([ended] if ended else [])])

    @property
    def _log(self) -> str:
        return os.path.join(self._folder, "log")  # noqa: PTH118 - a string is wanted

    async def _end(self) -> None:
        session, self._session = self._session, None
        process, self._process = self._process, None
        if session is not None:
            await session.close()
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()  # that ends it
            with suppress(ProcessLookupError):
                try:
                    await asyncio.wait_for(process.wait(), _END_S)
                except TimeoutError:
                    process.kill()
                    await process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _own_folder() -> str:
    """One that only this user may enter, with a path that is short enough for a socket."""
    folder = tempfile.mkdtemp(prefix="evalwright-")
    if len(os.fsencode(folder)) > _LONGEST_SOCKET - len("/llama.sock"):
        os.rmdir(folder)  # noqa: PTH106 - a string is at hand
        folder = tempfile.mkdtemp(prefix="evalwright-", dir="/tmp")
    return folder


def _last_lines(log: Path) -> list[str]:
    try:
        said = log.read_bytes()[-_MOST_LOG:].decode(errors="replace")
    except OSError:
        return []
    return [answers.one_line(line) for line in said.splitlines() if line.strip()][-_SHOWN_LINES:]


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


def _ended(status: int) -> str:
    if status >= 0:
        return f"it ended with status {status}"
    name = signal.Signals(-status).name
    memory = " (out of memory?)" if name == "SIGKILL" else ""
    return f"it was killed by {name}{memory}"


def _progress(pid: int, size: int) -> str:
    """How much of the file is in memory, where the system tells."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return _size(size)
    share = min(99, 100 * pages * os.sysconf("SC_PAGE_SIZE") // max(1, size))
    return f"{share} % of {_size(size)}"


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"  # noqa: PLR2004
