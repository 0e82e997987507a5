"""One process of an author's code: started, spoken with, ended.

It has a socket to the engine, a pipe for what it prints, and a page of memory that tells what it is
at. Its environment is the few variables that Python needs and those it is given: none of the user's
keys. When it ends, so does its group; what leaves the group (`setsid`) stays.
"""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from evalwright.processes import ENVIRONMENT, has_exited, kill_group
from evalwright.snippets.inside.marks import SIZE, Marks
from evalwright.snippets.link import Link
from evalwright.snippets.log import Lines, Log
from evalwright.snippets.settings import Settings
from evalwright.snippets.sources import Source

_SCRIPT = Path(__file__).with_name("_serve.py")
_OBJECTS = Path(__file__).parents[1] / "objects"
_INHERITED = ("HOME", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TMPDIR", "TZ")
_SLACK_BYTES = 2 * 1024**2
_DYING_S = 0.2


class Process:
    """A child. ChildProcessError, when there can be none."""

    def __init__(
        self,
        settings: Settings,
        log: Log,
        *,
        heard: Callable[[bytearray], None],
        lost: Callable[[], None],
    ) -> None:
        self.printed = Lines(log)
        self.started_at = time.monotonic()
        ours, theirs = socket.socketpair()
        reader, writer = os.pipe()
        with tempfile.TemporaryFile() as memory:
            memory.truncate(SIZE)
            try:
                self._process = _started(settings, theirs.fileno(), memory.fileno(), writer)
            except OSError as error:
                ours.close()
                os.close(reader)
                text = f"{error.filename or settings.python}: {error.strerror}"
                raise ChildProcessError(f"no process for snippets: {text}") from error
            finally:
                theirs.close()
                os.close(writer)
            self.marks = Marks(memory.fileno())
        self.link = Link(
            ours,
            reader,
            self.printed,
            heard=heard,
            lost=lost,
            max_bytes=settings.max_result_bytes + _SLACK_BYTES,
        )

    @property
    def pid(self) -> int:
        """Its number, which is its group's too."""
        return self._process.pid

    def greet(self, sources: Mapping[str, Source], settings: Settings, *, talks: bool) -> None:
        """Tell it what it is for."""
        orders = {
            "sources": sources,
            "talks": talks,
            "max_bytes": settings.max_result_bytes,
            "limits": {
                "RLIMIT_AS": settings.address_space_bytes,
                "RLIMIT_FSIZE": settings.file_bytes,
                "RLIMIT_NOFILE": settings.open_files,
                "RLIMIT_CORE": 0,
            },
        }
        self.link.send(msgspec.json.encode(orders) + b"\n")

    def has_exited(self) -> bool:
        """Whether it has ended, even if a copy of it holds its socket."""
        return self._process.returncode is not None or has_exited(self._process)

    def end(self) -> tuple[str, list[int]]:
        """End it, and all that stayed in its group; how it came to its end, and what it was at.

        What a process is at that lives on is not what cut the connection.
        """
        until = time.monotonic() + _DYING_S
        while not has_exited(self._process) and time.monotonic() < until:
            time.sleep(0.002)
        by_itself = has_exited(self._process)
        busy = [number for _, number, _ in self.marks.read()] if by_itself else []
        self.kill()
        told = _told(self._process.returncode) if by_itself else "it closed its connection"
        return told, busy

    def kill(self) -> None:
        """End it now, and all that stayed in its group. A second time does nothing."""
        if self._process.returncode is None:
            kill_group(self._process)
            self.link.drain()
            self.link.close()
            self.marks.close()


def _started(settings: Settings, channel: int, memory: int, output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # -P: nothing from the directory of the script.
        [settings.python, "-P", _SCRIPT, str(channel), str(memory), _OBJECTS],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=settings.directory,
        env=_environment(settings.environment),
        pass_fds=(channel, memory),
        start_new_session=True,
    )


def _environment(named: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {**ENVIRONMENT, **inherited, **named}


def _told(status: int) -> str:
    if status >= 0:
        return f"the process exited with status {status}"
    try:
        return f"the process was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"the process was killed by signal {-status}"
