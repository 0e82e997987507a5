"""Manage llama.cpp processes: start them on first use, share, restart and end them.

Models with the same file and settings share one process, so a model that judges itself is loaded
once. llama.cpp runs in a separate process because loading holds the GIL, a failed assertion ends
the process, and errors in a file are reported on standard error.

Holds:      The socket is in a private folder, and the environment contains no keys. The process and
            its folder are removed when the engine ends, even if it is killed, and after errors and
            cancellation. There are at most as many concurrent requests as slots. If the process
            dies, the samples in flight fail, and it is restarted; after the third death, the run
            stops and can be resumed. A file that cannot be loaded is tried only once.
Does not:   sandbox llama.cpp, which runs with the user's permissions.
"""

import asyncio
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import aiohttp
import msgspec
from msgspec import Struct

from evalwright.clients.llama.settings import LlamaSettings
from evalwright.clients.replies import to_one_line
from evalwright.errors import ModelError, Stopped

HOST = Path(__file__).with_name("host.py")
_TELL_EVERY_S = 2.0
_END_S = 5.0
_LONGEST_SOCKET = 100
"""Maximum length of the socket path in bytes; the system allows 107."""
_MOST_LOG = 4000
_SHOWN_LINES = 2
_STAMP = re.compile(r"^[\d.]+ [A-Z] [\w ]*: ?")
"""Start of a llama.cpp log line: time, level and source."""
_INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TMPDIR"),
    *("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES", "VIRTUAL_ENV"),
)
"""Environment variables that llama.cpp may need. None of them contains a key."""

_LOOK_S = 0.1
_NEARLY = 0.35
"""A core with at most this load counts as idle."""
_IDLE, _WAITING = 3, 4
"""Columns of a `cpu` line."""
_MOST_DEATHS = 3
_BAD_REQUEST = 400

Reply = TypeVar("Reply")
Tell = Callable[[str], None]
_encode = msgspec.json.Encoder().encode


class _LlamaError(Struct, frozen=True):
    message: str = ""
    type: str = ""
    n_prompt_tokens: int = 0
    n_ctx: int = 0


class _ErrorReply(Struct, frozen=True):
    error: _LlamaError = _LlamaError()


class ServerSpec(Struct, frozen=True):
    """A model file and its settings. Equal specs share a process."""

    name: str
    """Model name, such as `local/smollm2`."""
    path: str
    size: int
    settings: LlamaSettings


class LlamaProcess:
    """A process that loads and serves a model."""

    def __init__(self, spec: ServerSpec, folder: str) -> None:
        self.spec, self.folder = spec, folder
        self._child: subprocess.Popen[bytes] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def exchange(self, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        """Send a POST request, or GET without a body; return the status and body of the reply."""
        if self._session is None:
            raise aiohttp.ClientConnectionError("the process has ended")
        method = "GET" if body is None else "POST"
        data = None if body is None else _encode(body)
        async with self._session.request(method, f"http://llama{path}", data=data) as response:
            return response.status, await response.read()

    async def load(self, tell: Tell) -> None:
        """Start the process and wait until it is ready; `Stopped` if it cannot start."""
        spec, started = self.spec, perf_counter()
        threads = spec.settings.threads or await idle_threads(os.environ)
        socket = f"{self.folder}/llama.sock"
        try:
            ready = await self._wait_until_ready(socket, threads, tell)
        except OSError as error:
            raise _loading_error(spec, error.strerror or str(error)) from error
        if not ready:
            raise _loading_error(spec, await self.last_words())
        self._session = aiohttp.ClientSession(
            # One request per connection: a closed keep-alive connection would look like a crash.
            connector=aiohttp.UnixConnector(socket, limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=spec.settings.total_timeout_s),
            headers={"Content-Type": "application/json"},
        )
        slots = f"{spec.settings.slots} slot{'s' * (spec.settings.slots > 1)}"
        used = f"{threads} thread{'s' * (threads > 1)}"
        took = perf_counter() - started
        tell(f"{spec.name}: {_format_size(spec.size)} loaded in {took:.1f} s, {slots}, {used}")

    async def last_words(self) -> str:
        """Return the error in the log and the exit status."""
        ended = ""
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                ended = _describe_exit(await asyncio.to_thread(self._child.wait, _END_S))
        return "; ".join(filter(None, [*_read_log(Path(self.folder, "log")), ended]))

    async def end(self) -> None:
        """End the process and remove its folder. Further calls do nothing."""
        session, self._session = self._session, None
        child, self._child = self._child, None
        try:
            if session is not None:
                await session.close()
            if child is not None:
                await _reap(child, at_once=session is None)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    async def _wait_until_ready(self, socket: str, threads: int, tell: Tell) -> bool:
        """Wait, report progress, and return whether the process became ready."""
        spec = self.spec
        settings = {
            "model": spec.path,
            "socket": socket,
            "threads": threads,
            "slots": spec.settings.slots,
            "context": spec.settings.context,
        }
        child = self._child = _spawn(self.folder)  # stored immediately, so that it is always ended
        assert child.stdin is not None  # noqa: S101 - both are pipes
        assert child.stdout is not None  # noqa: S101
        with suppress(BrokenPipeError):  # the process has already ended; its log has the reason
            child.stdin.write(_encode(settings) + b"\n")
        ready = asyncio.ensure_future(asyncio.to_thread(child.stdout.readline))
        while not (await asyncio.wait([ready], timeout=_TELL_EVERY_S))[0]:
            tell(f"{spec.name}: loading, {_progress(child.pid, spec.size)}")
        return ready.result() == b"ready\n"


def _spawn(folder: str) -> subprocess.Popen[bytes]:
    with Path(folder, "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", str(HOST)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={name: os.environ[name] for name in _INHERITED if name in os.environ},
            start_new_session=True,  # Ctrl-C must not end it: requests in flight are finished
        )


async def _reap(child: subprocess.Popen[bytes], *, at_once: bool) -> None:
    """Wait until the process ends; kill it after a timeout or on cancellation."""
    assert child.stdin is not None  # noqa: S101 - both are pipes
    assert child.stdout is not None  # noqa: S101
    child.stdin.close()  # ends the process
    if at_once:
        child.kill()
    try:
        await asyncio.to_thread(child.wait, _END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        await asyncio.to_thread(child.wait)
    finally:
        if child.returncode is None:  # cancelled
            child.kill()
            child.wait()
        child.stdout.close()


async def _start_process(spec: ServerSpec, tell: Tell) -> LlamaProcess:
    """Start a process and wait until it is ready; clean up if this fails."""
    try:
        process = LlamaProcess(spec, _make_folder())
    except OSError as error:
        raise _loading_error(spec, f"cannot create a folder for its socket: {error}") from error
    async with AsyncExitStack() as ending:
        ending.push_async_callback(process.end)
        await process.load(tell)
        ending.pop_all()
    return process


def _loading_error(spec: ServerSpec, why: str) -> Stopped:
    return Stopped(
        f"{spec.name} could not be loaded: {why}",
        hint="is the file complete, and does it fit into memory? `-p slots=1` and `-p "
        "context=2048` need less memory",
    )


def _make_folder() -> str:
    """Create a private folder with a path that is short enough for a socket."""
    folder = tempfile.mkdtemp(prefix="evalwright-")
    if len(os.fsencode(folder)) > _LONGEST_SOCKET - len("/llama.sock"):
        os.rmdir(folder)  # noqa: PTH106 - the path is a string
        folder = tempfile.mkdtemp(prefix="evalwright-", dir="/tmp")
    return folder


def _read_log(log: Path) -> list[str]:
    """Return the first lines of the log, without times. Later lines are consequences."""
    try:
        text = log.read_bytes()[:_MOST_LOG].decode(errors="replace")
    except OSError:
        return []
    lines = [_STAMP.sub("", to_one_line(line)) for line in text.splitlines() if line.strip()]
    return lines[:_SHOWN_LINES]


def _describe_exit(status: int) -> str:
    if status >= 0:
        return f"it ended with status {status}"
    name = signal.Signals(-status).name
    memory = " (out of memory?)" if name == "SIGKILL" else ""
    return f"it was killed by {name}{memory}"


def _progress(pid: int, size: int) -> str:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return _format_size(size)
    share = 100 * pages * os.sysconf("SC_PAGE_SIZE") // max(1, size)
    if share < 100:  # noqa: PLR2004 - percent
        return f"{share} % of {_format_size(size)}"
    return f"{_format_size(size)} read, preparing"


def _format_size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"  # noqa: PLR2004


_servers = WeakKeyDictionary[asyncio.AbstractEventLoop, "dict[ServerSpec, LlamaServer]"]()


def join(spec: ServerSpec, tell: Tell) -> "LlamaServer":
    """Return this event loop's server for a spec. Each user must call `leave`."""
    servers = _servers.setdefault(asyncio.get_running_loop(), {})
    if spec not in servers:
        servers[spec] = LlamaServer(spec, tell)
    servers[spec].users += 1
    return servers[spec]


class LlamaServer:
    """Serves one model file and restarts the process if it dies."""

    def __init__(self, spec: ServerSpec, tell: Tell) -> None:
        self.spec = spec
        self.users = 0
        self.process: LlamaProcess | None = None
        self.deaths = 0
        self.prompting = asyncio.Lock()
        """Held while a prompt is computed; see the docstring of `model`."""
        self._tell = tell
        self._starting = asyncio.Lock()
        self._unusable: Stopped | None = None
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(spec.settings.slots):
            self._free.put_nowait(slot)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Hold a slot and yield its number."""
        slot = await self._free.get()
        try:
            yield slot
        finally:
            self._free.put_nowait(slot)

    async def ask(self, path: str, body: dict[str, Any] | None, kind: type[Reply]) -> Reply:
        """Send a request; return the reply or raise `ModelError`."""
        process = await self._running_process()
        try:
            status, raw = await process.exchange(path, body)
        except TimeoutError as error:
            raise ModelError(
                "timeout",
                f"no complete reply within {self.spec.settings.total_timeout_s:g} s",
                hint="increase -p total_timeout_s=SECONDS, or reduce -p max_tokens=N",
            ) from error
        except UnicodeEncodeError as error:
            raise ModelError(
                "bad_request", f"text that is not valid Unicode cannot be sent: {error}"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise await self._handle_death(process) from error
        if status >= _BAD_REQUEST:
            raise _parse_error(raw)
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ModelError("wrong_shape", f"unexpected reply from llama.cpp: {error}") from error

    async def leave(self) -> None:
        """Leave the server; the last user ends the process."""
        self.users -= 1
        if self.users <= 0:
            _servers.get(asyncio.get_running_loop(), {}).pop(self.spec, None)
            async with self._starting:
                process, self.process = self.process, None
                if process is not None:
                    await process.end()

    async def _running_process(self) -> LlamaProcess:
        if self.process is not None:
            return self.process
        async with self._starting:  # only one request loads the model; the others wait
            if self._unusable is not None:
                raise self._unusable
            if self.process is None:
                try:
                    self.process = await _start_process(self.spec, self._tell)
                except Stopped as error:
                    self._unusable = error
                    raise
            return self.process

    async def _handle_death(self, process: LlamaProcess) -> ModelError | Stopped:
        """End a process that does not answer; the next request starts a new one."""
        if self.process is not process:  # another request has already handled it
            return ModelError("crashed", "the model's process has died")
        self.process = None
        self.deaths += 1
        async with self._starting:  # a new process must wait until this memory is free
            try:
                words = await process.last_words()
            finally:
                await process.end()
        if self.deaths < _MOST_DEATHS:
            return ModelError("crashed", f"the model's process has died: {words}")
        self._unusable = Stopped(
            f"{self.spec.name}: its process has died {self.deaths} times: {words}",
            hint="`-p slots=1` and `-p context=2048` need less memory",
        )
        return self._unusable


def _parse_error(raw: bytes) -> ModelError:
    try:
        error = msgspec.json.decode(raw, type=_ErrorReply).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        error = _LlamaError(raw[:200].decode(errors="replace"))
    if error.type == "exceed_context_size_error":
        return ModelError(
            "context",
            f"the prompt has {error.n_prompt_tokens} tokens, "
            f"but the context has only {error.n_ctx}",
            hint=f"-p context={1 << error.n_prompt_tokens.bit_length()}, if the model supports it",
        )
    return ModelError("bad_request", f"llama.cpp rejected the request: {error.message}")


async def idle_threads(environment: Mapping[str, str]) -> int:
    """Return the number of threads to use, which is the number of idle cores.

    The threads of llama.cpp wait for each other by spinning. This is fast on idle cores. If a
    thread has to share its core, all others spin until it runs again, and 60 tokens per second
    become one. The result is therefore the smaller of two counts: the cores that were idle during a
    tenth of a second, and the number of cores minus the load of the last minute. It is 1 if neither
    is known. It is also 1 in CI (if the variable `CI` is set), where other jobs may start at any
    time.
    """
    if environment.get("CI", "").strip().lower() not in {"", "0", "false"}:
        return 1
    before = _read_ticks()
    await asyncio.sleep(_LOOK_S)
    idle = count_idle(before, _read_ticks())
    return choose_threads(count_cores(), idle=idle, load=_read_load())


def choose_threads(cores: float, *, idle: float | None, load: float | None) -> int:
    """Return the number of threads: at least 1, and exactly 1 if both values are unknown."""
    counts = (idle, None if load is None else cores - load)
    free = [count for count in counts if count is not None]
    return max(1, math.floor(min([cores, *free]) + _NEARLY)) if free else 1


def count_cores() -> float:
    """Return the number of cores that affinity and container quota allow this process."""
    try:
        mine = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        mine = os.cpu_count() or 1
    try:
        allowed, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return min(mine, int(allowed) / int(period))
    except (OSError, ValueError):  # the file does not exist, or there is no quota
        return mine


def count_idle(before: list[int] | None, after: list[int] | None) -> float | None:
    """Return the number of cores that were idle between two readings."""
    if before is None or after is None:
        return None
    spent = [later - earlier for earlier, later in zip(before, after, strict=True)]
    total = sum(spent)
    if total <= 0:
        return None
    return (spent[_IDLE] + spent[_WAITING]) / total * (os.cpu_count() or 1)


def _read_ticks() -> list[int] | None:
    try:
        return [int(ticks) for ticks in Path("/proc/stat").read_text().split(None, 9)[1:9]]
    except (OSError, ValueError):
        return None


def _read_load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None
