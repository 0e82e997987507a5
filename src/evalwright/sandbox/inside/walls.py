"""What every process that runs a stranger's code loses, in either tier, before it runs any.

    limits          memory, CPU time, files, descriptors, threads; no core dumps
    descriptors     all but the three standard ones and those it is given by name
    system calls    all but the allow-list of `syscalls`, and no_new_privs with it

A limit is inherited: the zygote sets it on itself, once. Capabilities and files are the tier's
affair. Seccomp comes last, because what comes before needs calls that it refuses.
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
    """Whether we are root, and could be nobody instead.

    Root of a container without other users is a user of the host like any other, and stays it.
    """
    return os.getuid() == 0 and all(map(_has_nobody, ("uid_map", "gid_map")))


def _has_nobody(name: str) -> bool:
    with open(f"/proc/self/{name}", encoding="ascii") as file:  # noqa: PTH123 - no pathlib here
        ranges = [tuple(map(int, line.split())) for line in file]
    return any(first <= NOBODY < first + count for first, _, count in ranges)


def devices() -> list[str]:
    """Those that a candidate may use."""
    return [path for path in _DEVICES if os.path.exists(path)]  # noqa: PTH110 - no pathlib here


def exit_status(wait: int) -> int:
    """How a process ended: its exit status, or 128 and the signal that killed it."""
    code = os.waitstatus_to_exitcode(wait)
    return code if code >= 0 else 128 - code


def close_all_but(kept: tuple[int, ...]) -> None:
    """Close every descriptor above the standard three that is not in `kept`."""
    low = 3
    for number in sorted(kept):
        os.closerange(low, number)
        low = number + 1
    # Descriptors above this one: none of ours, and none is inherited over `exec`.
    os.closerange(low, 4096)


def prepare(*, own_files: bool) -> None:
    """In the zygote: limits that its children inherit, and what need not be made for each of them.

    `own_files`: there is a place to write to.
    """
    for kind, value in _LIMITS.items():
        _set_limit(kind, value, value)
    seccomp.build_filter(libc.MACHINE, pid=1, own_files=own_files)


def limit_cpu(cpu_s: int) -> None:
    """In the first process of a candidate, for all of them: seconds of CPU time, for each."""
    # A second between the warning and the kill.
    _set_limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)


def seal(*, kept: tuple[int, ...], threads: int, own_files: bool) -> None:
    """At last, in each: no descriptors but `kept`, and no system calls but those on the list.

    `threads` counts what the user already runs where the kernel counts so. It holds for threads
    that are yet to come, and not before: the zygote must be able to fork whatever they do.
    """
    close_all_but(kept)
    _set_limit(resource.RLIMIT_NPROC, threads, threads)
    seccomp.install(os.getpid(), own_files=own_files)


def _set_limit(kind: int, soft: int, hard: int) -> None:
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
