"""Whether a process still exists, as another process on the same machine can tell.

A process id is reused, so the time at which the process started belongs to it. Neither means
anything on another machine or in another container: `place` tells them apart.
"""

import os
import platform
from functools import cache
from pathlib import Path

from msgspec import Struct


class ProcessIdentity(Struct, frozen=True):
    """One process, on all machines and at all times."""

    place: str
    """Machine, its last start, and the container."""
    pid: int
    started: str = ""
    """When it started, as the kernel counts; empty if the platform does not tell."""


def identify_process() -> ProcessIdentity:
    """Return the identity of this process."""
    pid = os.getpid()
    return ProcessIdentity(_read_place(), pid, _read_start(pid) or "")


def is_gone(process: ProcessIdentity) -> bool:
    """Whether a process has certainly ended. Of a process in another place, nothing is certain."""
    if process.place != _read_place():
        return False
    if process.started:
        return _read_start(process.pid) != process.started
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # of another user
        return False
    return False


@cache
def _read_place() -> str:
    parts = [platform.node()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:  # not Linux
        pass
    return "/".join(parts)


def _read_start(pid: int) -> str | None:
    """Return when a process started; None if it has ended, or the platform does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    state, start = fields[0], fields[19]
    return None if state in {b"Z", b"X"} else start.decode()
