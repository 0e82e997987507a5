"""What every process loses, in either tier, before it runs untrusted code.

    limits          memory, CPU time, files, descriptors, threads; no core dumps
    descriptors     all but the three standard ones and those that are named
    system calls    all but the allow-list of `syscalls`, and no_new_privs with it

Limits are inherited: the zygote sets them on itself, once. Each tier drops capabilities and files.
Seccomp comes last, because it refuses calls that the rest needs.
"""

from __future__ import annotations

import os
import resource

from . import libc, seccomp

NOBODY = 65534

ADDRESS_SPACE_BYTES = 1024**3
FILE_BYTES = 16 * 1024**2
OPEN_FILES = 64
THREADS = 64
"""And the processes around them."""
TMP_BYTES = 16 * 1024**2
TMP_FILES = 1024

_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
_LIMITS = {
    resource.RLIMIT_AS: ADDRESS_SPACE_BYTES,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: FILE_BYTES,
    resource.RLIMIT_MEMLOCK: 0,
    resource.RLIMIT_MSGQUEUE: 0,
    resource.RLIMIT_NICE: 0,
    resource.RLIMIT_NOFILE: OPEN_FILES,
    resource.RLIMIT_RTPRIO: 0,
    resource.RLIMIT_SIGPENDING: 256,
}


def is_root() -> bool:
    """Whether we are root and could be nobody: a container may have no other user."""
    return os.getuid() == 0 and all(map(_has_nobody, ("uid_map", "gid_map")))


def _has_nobody(name: str) -> bool:
    with open(f"/proc/self/{name}", encoding="ascii") as file:  # noqa: PTH123 - no pathlib here
        ranges = [tuple(map(int, line.split())) for line in file]
    return any(first <= NOBODY < first + count for first, _, count in ranges)


def devices() -> list[str]:
    """The devices that a candidate may use."""
    return [path for path in _DEVICES if os.path.exists(path)]  # noqa: PTH110 - no pathlib here


def exit_status(wait: int) -> int:
    """The exit status of a process, or 128 plus the signal that killed it."""
    code = os.waitstatus_to_exitcode(wait)
    return code if code >= 0 else 128 - code


def close_all_but(kept: tuple[int, ...]) -> None:
    """Close every descriptor above the standard three that is not in `kept`."""
    low = 3
    for number in sorted(kept):
        os.closerange(low, number)
        low = number + 1
    # None of ours is above this, and none is inherited over `exec`.
    os.closerange(low, 4096)


def prepare(*, own_files: bool) -> seccomp.PreparedFilter:
    """In the zygote: set what its children inherit, and return the filter for each of them."""
    for kind, value in _LIMITS.items():
        _set_limit(kind, value, value)
    libc.forbid_new_privileges()
    return seccomp.PreparedFilter(own_files=own_files)


def limit_cpu(cpu_s: int) -> None:
    """In the first process of a candidate: limit the CPU time of each of its processes."""
    # A second between the warning and the kill.
    _set_limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)


def limit_threads(threads: int) -> None:
    """Limit the threads of a candidate's user, which include the processes around them."""
    _set_limit(resource.RLIMIT_NPROC, threads, threads)


def _set_limit(kind: int, soft: int, hard: int) -> None:
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
