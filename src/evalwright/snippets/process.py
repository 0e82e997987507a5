"""A process that runs an author's code.

The process has a socket to the engine, a pipe for its output, and a page of shared memory that
shows what it is doing. Its environment contains only the few variables that Python needs and those
in the settings, and none of the user's keys. When it ends, its process group also ends, except
processes that left the group (`setsid`).
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from evalwright.processes import ENVIRONMENT, is_dead, is_exiting, kill_group
from evalwright.snippets.inside.channel import SIZE, Activity
from evalwright.snippets.inside.tracing import forbid_tracing
from evalwright.snippets.sources import Source

MAX_RESULT_BYTES = 256 * 1024**2
"""Maximum size of a result in bytes. A scorer may return the scores of a whole dataset."""
MAX_LOG_BYTES = 256 * 1024
"""Maximum number of bytes that a batch of calls may print; the rest is dropped."""
_LINE_BYTES = 64
"""Bytes counted per line in addition to its text, so that empty lines also count."""

Log = Callable[[str], None]

_SCRIPT = Path(__file__).with_name("_serve.py")
_OBJECTS = Path(__file__).parents[1] / "objects"
_INHERITED = ("HOME", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TMPDIR", "TZ")
_SLACK_BYTES = 2 * 1024**2
_DYING_S = 0.2
"""How long a process whose connection was lost may take to show that it is exiting."""
_EXITING_S = 30.0
"""How long an exiting process may take on a busy machine."""
_CHUNK_BYTES = 256 * 1024


class SnippetSettings(Struct, frozen=True, kw_only=True):
    """Settings and limits of the processes. Rlimits that the system rejects are not set."""

    environment: dict[str, str] = {}
    """Environment variables to set in addition to the few that Python needs."""
    python: str = sys.executable
    directory: Path | None = None
    """Working directory; None for the engine's."""
    timeout_s: float = 60.0
    """Default time limit of a call. Waiting for a model does not count."""
    load_s: float = 60.0
    """Time limit for the top level of a source, because imports may be slow."""
    max_result_bytes: int = MAX_RESULT_BYTES
    address_space_bytes: int = 16 * 1024**3
    """Limit of the address space. Array libraries reserve far more than they use."""
    file_bytes: int = 1024**3
    open_files: int = 1024


class SnippetProcess:
    """A child process; ChildProcessError if it cannot be started.

    `on_line` is called with each received line, and `on_loss` once when the connection has ended.
    """

    def __init__(
        self,
        settings: SnippetSettings,
        log: Log,
        *,
        on_line: Callable[[bytearray], None],
        on_loss: Callable[[], None],
    ) -> None:
        self._on_line, self._on_loss = on_line, on_loss
        self._max_bytes = settings.max_result_bytes + _SLACK_BYTES
        self._unsent, self._unread = bytearray(), bytearray()
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self.printed = _PrintedLines(log)
        self.started_at = time.monotonic()
        self._channel, child_socket = socket.socketpair()
        self._output, writer = os.pipe()
        with tempfile.TemporaryFile() as memory:
            memory.truncate(SIZE)
            try:
                self._process = _start(settings, child_socket.fileno(), memory.fileno(), writer)
            except OSError as error:
                self._channel.close()
                os.close(self._output)
                text = f"{error.filename or settings.python}: {error.strerror}"
                raise ChildProcessError(f"cannot start a process for snippets: {text}") from error
            finally:
                child_socket.close()
                os.close(writer)
            self.marks = Activity(memory.fileno())
        self._channel.settimeout(0)
        os.set_blocking(self._output, False)
        self._loop.add_reader(self._channel, self._read_channel)
        self._loop.add_reader(self._output, self.read_output)

    @property
    def pid(self) -> int:
        """Id of the process and of its group."""
        return self._process.pid

    def send_orders(
        self, settings: SnippetSettings, sources: Mapping[str, Source], *, concurrent: bool
    ) -> None:
        """Send the settings and sources that the process needs before its first call."""
        orders = {
            "sources": sources,
            "concurrent": concurrent,
            "max_bytes": settings.max_result_bytes,
            "limits": {
                "RLIMIT_AS": settings.address_space_bytes,
                "RLIMIT_FSIZE": settings.file_bytes,
                "RLIMIT_NOFILE": settings.open_files,
                "RLIMIT_CORE": 0,
            },
        }
        self.send(msgspec.json.encode(orders) + b"\n")

    def send(self, data: bytes) -> None:
        """Send all data, without waiting."""
        if self._closed:
            return
        waiting = bool(self._unsent)
        self._unsent += data
        if not waiting:
            self._write()
            if self._unsent:
                self._loop.add_writer(self._channel, self._write)

    def drain(self) -> None:
        """Read all lines and output that have arrived."""
        while not self._closed and self._receive() == "more":
            pass
        self.read_output()

    def read_output(self) -> None:
        """Read the printed output that has arrived."""
        while True:
            try:
                chunk = os.read(self._output, _CHUNK_BYTES)
            except BlockingIOError:
                return
            if not chunk:  # the process has closed its streams
                self._loop.remove_reader(self._output)
                return
            self.printed.take(chunk)

    def is_dead(self) -> bool:
        """Whether the process has ended, even if a fork holds its socket."""
        return self._process.returncode is not None or is_dead(self._process)

    def end(self) -> tuple[str, list[int]]:
        """End the process and its group; return how it ended and the calls that it was running.

        If the process only closed its connection, no call is held responsible.
        """
        lost_at = time.monotonic()
        while not is_dead(self._process):
            waited = time.monotonic() - lost_at
            if waited > (_EXITING_S if is_exiting(self.pid) else _DYING_S):
                break
            time.sleep(0.002)
        if not is_dead(self._process):
            self.kill()
            return "it closed its connection", []
        busy = [number for _, number, _ in self.marks.read()]
        self.kill()
        return f"the process {_describe_exit(self._process.returncode)}", busy

    def kill(self) -> None:
        """Kill the process and its group. Calling it again does nothing."""
        if self._process.returncode is not None:
            return
        kill_group(self._process)
        self.drain()
        self._loop.remove_reader(self._channel)
        self._loop.remove_writer(self._channel)
        self._loop.remove_reader(self._output)
        self._closed = True
        self.printed.end()
        self._channel.close()
        os.close(self._output)
        self.marks.close()

    def _write(self) -> None:
        try:
            sent = self._channel.send(self._unsent)
        except BlockingIOError:
            return
        except OSError:  # the process died before it read everything; the reader notices
            sent = len(self._unsent)
        del self._unsent[:sent]
        if not self._unsent:
            self._loop.remove_writer(self._channel)

    def _read_channel(self) -> None:
        if self._receive() == "end" and not self._closed:
            self._loop.remove_reader(self._channel)
            self._on_loss()

    def _receive(self) -> Literal["more", "none", "end"]:
        """Return whether data arrived and whether more can arrive."""
        try:
            chunk = self._channel.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return "none"
        except OSError:
            chunk = b""
        if not chunk:
            return "end"
        self._unread += chunk
        if b"\n" in chunk:
            *lines, self._unread = self._unread.split(b"\n")
            for line in lines:
                self._on_line(line)
        # The script never sends more than a result; anything larger comes from other code.
        return "more" if len(self._unread) <= self._max_bytes else "end"


def _start(
    settings: SnippetSettings, channel: int, memory: int, output: int
) -> subprocess.Popen[bytes]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    forbid_tracing()  # this environment may contain keys
    return subprocess.Popen(
        # -P: do not import from the script's folder.
        [settings.python, "-P", _SCRIPT, str(channel), str(memory), _OBJECTS],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=settings.directory,
        env={**ENVIRONMENT, **inherited, **settings.environment},
        pass_fds=(channel, memory),
        start_new_session=True,
    )


def _describe_exit(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


class _PrintedLines:
    """Logs whole lines up to a total size."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._line = b""
        self._left = 0
        self._since = 0.0
        self.name = ""
        """Name of the source that is printing."""
        self.last = ""
        """Last non-empty line."""

    def begin(self, name: str) -> None:
        """Switch to a different source and reset the size limit."""
        self.end()
        self.name = name
        self._left, self._since = MAX_LOG_BYTES, time.monotonic()

    def take(self, chunk: bytes) -> None:
        """Log the complete lines in a chunk."""
        if time.monotonic() - self._since > 1:
            self._left, self._since = MAX_LOG_BYTES, time.monotonic()
        if self._left < 0:
            return
        most = self._left // _LINE_BYTES + 1
        *lines, self._line = (self._line + chunk[: self._left]).split(b"\n")
        self._left -= len(chunk) + _LINE_BYTES * max(0, len(lines) - 1)
        for line in lines[:most]:
            self._write_line(line)
        if self._left < 0:
            self.end()
            self._log(f"… more than {MAX_LOG_BYTES} bytes were printed; the rest is dropped")

    def end(self) -> None:
        """Log an incomplete line."""
        line, self._line = self._line, b""
        if line:
            self._write_line(line)

    def _write_line(self, line: bytes) -> None:
        text = _plain(line.decode("utf-8", "replace"))
        self.last = text.strip() or self.last
        self._log(f"{self.name}: {text}" if self.name else text)


def _plain(text: str) -> str:
    """Replace control characters, because a snippet may print a model's output."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
