"""One process of an author's code: started, given calls, ended.

It blocks, and is used by one thread at a time. `calls` returns what was answered, and how the
process ended if it did before the last answer; then only `close` is left to do.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from evalwright.processes import ENVIRONMENT, START_S, Limits, has_exited, kill_group
from evalwright.snippets.exchange import Exchange, Lines, Log
from evalwright.snippets.results import Result, SnippetError, Source

MAX_RESULT_BYTES = 8 * 1024**2

_SCRIPT = Path(__file__).with_name("_serve.py")
# The script keeps to the size of a result; who says more than that is no longer the script.
_MAX_LINE_BYTES = MAX_RESULT_BYTES + 1024
_INHERITED = ("HOME", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TMPDIR", "TZ")
# A look this often at what no descriptor can tell: a child that died while a copy of it holds its
# socket, and a request to stop.
_LOOK_S = 0.05

Why = Literal["timeout", "crashed", "stopped"]


LIMITS = Limits(
    cpu_s=2,
    address_space_bytes=16 * 1024**3,  # libraries of arrays reserve far more than they use
    file_bytes=1024**3,
    open_files=1024,
)
"""`cpu_s` is what a call may use beyond its deadline, on every core."""


class Settings(Struct, frozen=True, kw_only=True):
    """What the processes of a worker may use."""

    environment: dict[str, str] = {}
    """Variables beside the few that Python needs. Nothing else of the user's is passed on."""
    limits: Limits = LIMITS
    load_s: float = 60.0
    """How long the top level of a source may run: it may import what takes long to import."""
    directory: Path | None = None
    """Where they run; None for where the engine does."""
    python: str = sys.executable


class Calls(Struct, frozen=True, kw_only=True):
    """Calls of one function, one after the other."""

    source: str
    function: str
    arguments: Sequence[bytes]
    """JSON lists."""
    timeout_s: float


class Ending(Struct, frozen=True, kw_only=True):
    """How a process came to its end before it had answered all."""

    why: Why
    loading: bool
    """Whether the source's top level was still running."""
    detail: str = ""


class _Value(Struct, frozen=True, tag="value"):
    value: Any


class _Error(Struct, frozen=True, tag="error"):
    error: SnippetError


_RECORD = msgspec.json.Decoder(_Value | _Error)


class Process:
    """A child. ChildProcessError, when it does not start."""

    def __init__(self, sources: Mapping[str, Source], settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = Lines(log)
        self._channel, theirs = socket.socketpair()
        self._output, output = os.pipe()
        os.set_blocking(self._output, False)
        self._channel.settimeout(0)
        try:
            self._process = subprocess.Popen(
                # -P: nothing from the directory of the script.
                [settings.python, "-P", _SCRIPT, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=settings.directory,
                env=_environment(settings.environment),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            self._channel.close()
            os.close(self._output)
            text = f"{error.filename or settings.python}: {error.strerror}"
            raise ChildProcessError(f"no process for snippets: {text}") from error
        finally:
            theirs.close()
            os.close(output)
        greeted = False
        try:
            self._greet(sources)
            greeted = True
        finally:
            if not greeted:
                self.close()

    @property
    def pid(self) -> int:
        """Its number, which is its group's too."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether it can be given calls."""
        return not has_exited(self._process)

    def calls(self, calls: Calls, stop: threading.Event) -> tuple[list[Result], Ending | None]:
        """Make the calls, until all are answered or it has ended. `stop` ends it early."""
        head = {
            "source": calls.source,
            "function": calls.function,
            "count": len(calls.arguments),
            "load_s": self._settings.load_s,
            "timeout_s": calls.timeout_s,
        }
        self._log.begin()
        exchange = Exchange(self._channel, self._output, self._log, max_bytes=_MAX_LINE_BYTES)
        exchange.send(b"\n".join([json.dumps(head).encode(), *calls.arguments, b""]))
        try:
            return self._answers(exchange, calls, stop)
        finally:
            exchange.close()

    def _answers(
        self, exchange: Exchange, calls: Calls, stop: threading.Event
    ) -> tuple[list[Result], Ending | None]:
        results: list[Result] = []
        loading = True
        deadline = time.monotonic() + self._settings.load_s
        while len(results) < len(calls.arguments):
            lines = exchange.wait(min(_LOOK_S, deadline - time.monotonic()))
            why = self._why_over(exchange, deadline, stop) if not lines else None
            if why is not None:
                lines = exchange.drain()  # what it said before that is said
            for line in lines:
                if loading:
                    loading = False
                else:
                    results.append(_result(line))
            if lines:
                deadline = time.monotonic() + calls.timeout_s
            elif why is not None:
                return results, self._ending(why, loading=loading)
        return results, None

    def _why_over(self, exchange: Exchange, deadline: float, stop: threading.Event) -> Why | None:
        if exchange.closed or has_exited(self._process):
            return "crashed"
        if stop.is_set():
            return "stopped"
        return "timeout" if time.monotonic() >= deadline else None

    def close(self) -> None:
        """End it, and all that stayed in its group. A second time does nothing."""
        if self._channel.fileno() < 0:
            return
        if self._process.returncode is None:
            kill_group(self._process)
        self._channel.close()
        os.close(self._output)

    def _greet(self, sources: Mapping[str, Source]) -> None:
        limits = self._settings.limits
        orders = {
            "sources": sources,
            "max_bytes": MAX_RESULT_BYTES,
            "limits": {
                "cpu_s": limits.cpu_s,
                "RLIMIT_AS": limits.address_space_bytes,
                "RLIMIT_FSIZE": limits.file_bytes,
                "RLIMIT_NOFILE": limits.open_files,
                "RLIMIT_CORE": 0,
            },
        }
        self._log.begin()
        exchange = Exchange(self._channel, self._output, self._log, max_bytes=_MAX_LINE_BYTES)
        exchange.send(msgspec.json.encode(orders) + b"\n")
        deadline = time.monotonic() + START_S
        try:
            while not exchange.wait(min(_LOOK_S, deadline - time.monotonic())):
                if self._why_over(exchange, deadline, threading.Event()):
                    words = self._log.last or "it says nothing"
                    raise ChildProcessError(f"the process for snippets did not start: {words}")
        finally:
            exchange.close()

    def _ending(self, why: Why, *, loading: bool) -> Ending:
        if why != "crashed":
            return Ending(why=why, loading=loading)
        until = time.monotonic() + _LOOK_S
        while not has_exited(self._process) and time.monotonic() < until:
            time.sleep(_LOOK_S / 50)
        if not has_exited(self._process):
            return Ending(why=why, loading=loading, detail="the process closed its connection")
        kill_group(self._process)
        status = self._process.returncode
        if status == -signal.SIGXCPU:
            return Ending(why="timeout", loading=loading)
        return Ending(why=why, loading=loading, detail=_told(status))


def _told(status: int) -> str:
    if status >= 0:
        return f"the process exited with status {status}"
    try:
        return f"the process was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"the process was killed by signal {-status}"


def _result(line: bytearray) -> Result:
    try:
        record = _RECORD.decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        text = f"the result cannot be read: {error}"
        return Result(error=SnippetError(kind="result", type=type(error).__name__, message=text))
    if isinstance(record, _Value):
        return Result(value=record.value)
    return Result(error=record.error)


def _environment(named: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {**ENVIRONMENT, **inherited, **named}
