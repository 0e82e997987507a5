"""Prevent an author's code from reading the engine's environment and memory in `/proc`.

    engine         forbid_tracing()     only processes with special capabilities may read it
    child          give_up_tracing()    this process and its children lose these capabilities

Linux only. A process can always read its own environment, and that of unprotected processes of the
same user.
"""

import sys
from typing import Any

_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_LOWER = 47, 3
_CAPABILITIES = (19, 21, 38)
"""CAP_SYS_PTRACE, and CAP_SYS_ADMIN and CAP_PERFMON, which expose memory on new kernels."""
_CAPABILITY_VERSION = 0x20080522
_STATUS = "/proc/self/status"
_SETS = ("CapInh:", "CapPrm:")


def forbid_tracing() -> None:
    """Make this process readable only with CAP_SYS_PTRACE. This also disables core dumps."""
    if sys.platform == "linux":
        _load_libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def give_up_tracing() -> None:
    """Drop the capabilities to read other processes, for this process and its children."""
    if sys.platform != "linux" or not _has_capability():
        return
    import ctypes

    libc = _load_libc()
    for number in _CAPABILITIES:
        if libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0):
            libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # exec cannot regain the capabilities
        libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_LOWER, number, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: low halves, then high
    if libc.capget(header, sets) == 0:
        for number in _CAPABILITIES:
            half, bit = divmod(number, 32)
            for place in range(3 * half, 3 * half + 3):
                sets[place] &= ~(1 << bit)
        libc.capset(header, sets)


def _has_capability() -> bool:
    """Whether any of the capabilities is permitted or inheritable; true if unknown."""
    try:
        with open(_STATUS, encoding="ascii") as file:  # noqa: PTH123 - pathlib is not needed here
            lines = [line.split() for line in file if line.startswith(_SETS)]
    except OSError:
        return True
    return any(int(bits, 16) >> number & 1 for _, bits in lines for number in _CAPABILITIES)


def _load_libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)
