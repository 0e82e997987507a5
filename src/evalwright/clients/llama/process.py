"""One life of llama.cpp: a process of our own, a socket that nobody else can reach.

Why a process: loading holds Python's lock for as long as it takes, an assertion that fails ends the
process it is in, and what llama.cpp says of a broken file goes to the standard error of all.

Holds:      a socket in a folder of this user's; an environment without keys; the end of the process
            with ours, also when ours is killed, and of its folder. What begins is ended, whatever
            comes between: an error, a cancelled task.
Does not:   hold llama.cpp itself to anything: it reads the file with the rights of the user.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from evalwright.clients import answers
from evalwright.clients.llama.threads import idle_threads
from evalwright.errors import Stopped

HOST = Path(__file__).with_name("host.py")
_TELL_EVERY_S = 2.0
_END_S = 5.0
_LONGEST_SOCKET = 100
"""Bytes of a path; the system takes 107."""
_MOST_LOG = 4000
_SHOWN_LINES = 2
_STAMP = re.compile(r"^[\d.]+ [A-Z] [\w ]*: ?")
"""What stands before a line of llama.cpp's: the time, how bad it is, and where."""
_INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TMPDIR"),
    *("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES", "VIRTUAL_ENV"),
)
"""What llama.cpp may need of the environment. No key is among it."""

Tell = Callable[[str], None]
_encode = msgspec.json.Encoder().encode


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


class Process:
    """A process that is loaded, or on its way."""

    def __init__(self, spec: Spec, folder: str) -> None:
        self.spec = spec
        self.folder = folder
        self._child: subprocess.Popen[bytes] | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def pid(self) -> int:
        """Of the process; 0 where there is none."""
        return self._child.pid if self._child else 0

    async def exchange(self, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        """Status and body of what it answers there. No body: it is looked up."""
        if self._session is None:
            raise aiohttp.ClientConnectionError("it has ended")
        method = "GET" if body is None else "POST"
        data = None if body is None else _encode(body)
        async with self._session.request(method, f"http://llama{path}", data=data) as response:
            return response.status, await response.read()

    async def load(self, tell: Tell) -> None:
        """Start it, and wait until it can be asked; `Stopped` tells why it cannot."""
        spec, started = self.spec, perf_counter()
        threads = spec.threads or await idle_threads(os.environ)
        socket = os.path.join(self.folder, "llama.sock")  # noqa: PTH118 - a string is wanted
        try:
            ready = await self._started(socket, threads, tell)
        except OSError as error:
            raise _not_loaded(spec, error.strerror or str(error)) from error
        if not ready:
            raise _not_loaded(spec, await self.last_words())
        self._session = aiohttp.ClientSession(
            # One request a connection: a kept one that the server closes would look like a death.
            connector=aiohttp.UnixConnector(socket, limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=spec.timeout_s),
            headers={"Content-Type": "application/json"},
        )
        slots = f"{spec.slots} slot{'s' * (spec.slots > 1)}"
        used = f"{threads} thread{'s' * (threads > 1)}"
        took = perf_counter() - started
        tell(f"{spec.name}: {_size(spec.size)} loaded in {took:.1f} s, {slots}, {used}")

    async def last_words(self) -> str:
        """Why it would not, or how it ended."""
        ended = ""
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                ended = _ended(await asyncio.to_thread(self._child.wait, _END_S))
        return "; ".join([*_reasons(Path(self.folder, "log")), *([ended] if ended else [])])

    async def end(self) -> None:
        """End it, and remove its folder; a second time does nothing."""
        session, self._session = self._session, None
        child, self._child = self._child, None
        try:
            if session is not None:
                await session.close()
            if child is not None:
                await _reaped(child, at_once=session is None)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    async def _started(self, socket: str, threads: int, tell: Tell) -> bool:
        """Whether it has said that it is ready; meanwhile, how far it has come."""
        spec = self.spec
        told = {
            "model": spec.path,
            "socket": socket,
            "threads": threads,
            "slots": spec.slots,
            "context": spec.context,
        }
        child = self._child = _spawned(self.folder)  # at once: nothing can come between
        assert child.stdin is not None  # noqa: S101 - both are pipes
        assert child.stdout is not None  # noqa: S101
        with suppress(BrokenPipeError):  # it has ended already, and will say why
            child.stdin.write(_encode(told) + b"\n")
        ready = asyncio.ensure_future(asyncio.to_thread(child.stdout.readline))
        while not (await asyncio.wait([ready], timeout=_TELL_EVERY_S))[0]:
            tell(f"{spec.name}: loading, {_progress(child.pid, spec.size)}")
        return ready.result() == b"ready\n"


def _spawned(folder: str) -> subprocess.Popen[bytes]:
    with Path(folder, "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", str(HOST)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={name: os.environ[name] for name in _INHERITED if name in os.environ},
            start_new_session=True,  # Ctrl-C is for us: what is in flight is waited for
        )


async def _reaped(child: subprocess.Popen[bytes], *, at_once: bool) -> None:
    """Wait for its end; help where that takes long, or nobody waits any more."""
    assert child.stdin is not None  # noqa: S101 - both are pipes
    assert child.stdout is not None  # noqa: S101
    child.stdin.close()  # that ends it
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


async def begin(spec: Spec, tell: Tell) -> Process:
    """One that can be asked. Where that fails, or is given up, nothing of it is left."""
    try:
        process = Process(spec, _own_folder())
    except OSError as error:
        raise _not_loaded(spec, f"no folder for its socket: {error}") from error
    async with AsyncExitStack() as ending:
        ending.push_async_callback(process.end)
        await process.load(tell)
        ending.pop_all()
    return process


def _not_loaded(spec: Spec, why: str) -> Stopped:
    return Stopped(
        f"{spec.name} could not be loaded: {why}",
        hint="is the file whole, and does it fit into memory? `-p slots=1` and `-p context=2048` "
        "take less",
    )


def _own_folder() -> str:
    """One that only this user may enter, with a path that is short enough for a socket."""
    folder = tempfile.mkdtemp(prefix="evalwright-")
    if len(os.fsencode(folder)) > _LONGEST_SOCKET - len("/llama.sock"):
        os.rmdir(folder)  # noqa: PTH106 - a string is at hand
        folder = tempfile.mkdtemp(prefix="evalwright-", dir="/tmp")
    return folder


def _reasons(log: Path) -> list[str]:
    """The first that it said, for what follows are consequences; without the times."""
    try:
        said = log.read_bytes()[:_MOST_LOG].decode(errors="replace")
    except OSError:
        return []
    lines = [_STAMP.sub("", answers.one_line(line)) for line in said.splitlines() if line.strip()]
    return lines[:_SHOWN_LINES]


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
    share = 100 * pages * os.sysconf("SC_PAGE_SIZE") // max(1, size)
    return f"{share} % of {_size(size)}" if share < 100 else f"{_size(size)} read, getting ready"  # noqa: PLR2004 - per cent


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"  # noqa: PLR2004
