"""Checked calls of libc, raw syscalls, and the constants that a jail is made of.

Every call that fails raises `OSError` with the reason and the name of the call.
"""

from __future__ import annotations

import ctypes
import os
import sys

from . import syscalls

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x0002_0000, 0x0400_0000, 0x0800_0000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x1000_0000, 0x2000_0000, 0x4000_0000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC = 1 << 10, 1 << 11, 1 << 12, 1 << 14
MS_PRIVATE, MS_RELATIME, ST_RELATIME = 1 << 18, 1 << 21, 1 << 12
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_CHILD_SUBREAPER = 1, 4, 8, 36
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAP_DAC_READ_SEARCH = 2
SIGKILL = 9

# A set of capabilities is 64 bits wide, in two halves.
_CAPABILITIES = 64
_CAPABILITY_VERSION = 0x2008_0522

_MOST_ARGUMENTS = 6
_LIBC = ctypes.CDLL(None, use_errno=True)
# Classes, which take long to make.
_TWO, _SIX = ctypes.c_uint32 * 2, ctypes.c_uint32 * 6


def _machine() -> str:
    wide = sys.maxsize > 2**32 and sys.byteorder == "little"
    machine = os.uname().machine
    return machine if wide and machine in syscalls.MACHINES else "unknown"


MACHINE = _machine()


def call(name: str, *args: object) -> int:
    """Call a function of libc that returns an `int`, and -1 when it fails."""
    function = getattr(_LIBC, name)
    function.restype = ctypes.c_int
    return _check_result(name, function, args)


def syscall(which: str | int, *args: object) -> int:
    """Make a raw syscall, by its name or its number."""
    number = which if isinstance(which, int) else syscalls.number(MACHINE, which)
    function = _LIBC.syscall
    function.restype = ctypes.c_long
    name = which if isinstance(which, str) else f"syscall {which}"
    # An argument that is left out would be whatever the register holds.
    rest = (0,) * (_MOST_ARGUMENTS - len(args))
    return _check_result(name, function, (number, *args, *rest))


class PreparedCall:
    """A call of libc whose arguments are converted in advance. It returns nothing.

    For what every child of a zygote calls. A child gets a copy of each page of memory that it
    writes to, if only a reference count; to convert arguments it would write to many.
    """

    __slots__ = ("_arguments", "_function", "_name")

    def __init__(self, name: str, *args: object) -> None:
        # An attribute would be one object for all calls of this function.
        self._function = _LIBC[name]
        self._function.restype = ctypes.c_int
        self._arguments = tuple(map(_wide, args))
        self._name = name

    def __call__(self) -> None:
        """Make the call."""
        if self._function(*self._arguments) == -1:
            errno = ctypes.get_errno()
            raise OSError(errno, os.strerror(errno), self._name)


def prepare_syscall(which: str, *args: object) -> PreparedCall:
    """Prepare a raw syscall."""
    rest = (0,) * (_MOST_ARGUMENTS - len(args))
    return PreparedCall("syscall", syscalls.number(MACHINE, which), *args, *rest)


def prepare_prctl(option: int, *args: object) -> PreparedCall:
    """Prepare a call of `prctl`."""
    return PreparedCall("prctl", option, *args, *((0,) * (4 - len(args))))


def _check_result(name: str, function: ctypes._NamedFuncPointer, args: tuple[object, ...]) -> int:
    result: int = function(*map(_wide, args))
    if result == -1:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno), name)
    return result


def _wide(argument: object) -> object:
    """Fill the register: ctypes would pass a bare `int` as 32 bits."""
    if isinstance(argument, int):
        return ctypes.c_ulong(argument)
    if isinstance(argument, str):
        return ctypes.c_char_p(os.fsencode(argument))
    if isinstance(argument, bytes):
        return ctypes.c_char_p(argument)
    return ctypes.c_void_p() if argument is None else argument


def describe_error(error: OSError) -> str:
    """What was refused, and why."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def mount(
    source: str | None, target: str, kind: str | None, flags: int = 0, data: str | None = None
) -> None:
    """Mount a filesystem, or change how one is mounted."""
    call("mount", source, target, kind, flags, data)


def prctl(option: int, *args: object) -> int:
    """Ask or set something of this process. Arguments that are left out are 0."""
    return call("prctl", option, *args, *((0,) * (4 - len(args))))


def forbid_new_privileges() -> None:
    """From here on no exec gives rights. Landlock and seccomp ask for it."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def prepare_capability_drop() -> tuple[PreparedCall, ...]:
    """Prepare to give up every capability but the bounding set.

    It takes half a millisecond to empty that, and it means nothing to a process with no_new_privs.
    """
    header, none = _TWO(_CAPABILITY_VERSION, 0), _SIX()
    return (
        prepare_prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL),
        prepare_syscall("capset", ctypes.byref(header), ctypes.byref(none)),
    )


def drop_capabilities(*, keep: int | None = None) -> None:
    """Give up every capability, now and for whatever could be executed later.

    `keep` is the number of one that stays permitted and becomes effective; over a change of user
    that needs PR_SET_KEEPCAPS, which ends here.
    """
    header = ctypes.byref(_TWO(_CAPABILITY_VERSION, 0))
    # Effective, permitted, inheritable: their low halves, then their high halves.
    sets = _SIX()
    syscall("capget", header, ctypes.byref(sets))
    sets[0], sets[3] = sets[1], sets[4]  # a change of user leaves none effective
    syscall("capset", header, ctypes.byref(sets))
    _drop_bounding_set()
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    bits = 0 if keep is None else 1 << keep
    low, high = bits & 0xFFFF_FFFF, bits >> 32
    sets[:] = [low, low, 0, high, high, 0]
    syscall("capset", header, ctypes.byref(sets))
    prctl(PR_SET_KEEPCAPS, 0)


def _drop_bounding_set() -> None:
    for capability in range(_CAPABILITIES):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            # Past the last one that the kernel knows; or without CAP_SETPCAP, and then
            # no_new_privs keeps an exec from drawing on the set.
            return
