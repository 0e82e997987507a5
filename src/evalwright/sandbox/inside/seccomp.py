"""The seccomp filter: which calls a candidate may make, and with what arguments.

The first line that applies decides:

    another architecture's         the process is killed
    one with a rule                allowed with the arguments that the rule names, else refused
    ALLOWED, OWN_FILES             allowed
    UNSUPPORTED                    EOPNOTSUPP
    newer than 2019, or no call    ENOSYS: whoever makes it has another way for older kernels
    any other                      EPERM

The last but one covers `clone3` and `openat2`, whose arguments are in memory where no filter can
see them, io_uring, pidfds, and the x32 calls of x86_64, numbered from 2**30.
"""

from __future__ import annotations

import ctypes
import errno
import os
from struct import pack

from . import libc, syscalls

Instruction = tuple[int, int, int, int]
# First number, last number, what to do with them.
Answer = tuple[int, int, list[Instruction]]

_AUDIT_ARCH = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_FIRST_OF_2019 = 424  # from here on all machines share the numbers

_ALLOW = 0x7FFF_0000
_KILL = 0x8000_0000
_ERRNO = 0x0005_0000

# Classic BPF. A jump says how many instructions it leaves out, if so and if not.
_LOAD, _AND, _EQUAL, _GREATER, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
# Where the kernel puts what the filter looks at; six arguments of two halves follow.
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16

_REFUSE = [
    (_AT_LEAST, 0, 1, _FIRST_OF_2019),
    (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    (_RETURN, 0, 0, _ERRNO | errno.EPERM),
]
# So many answers are few enough to be jumped over: a jump is at most 255 instructions long.
_STRETCH = 8

_SET_MODE_FILTER = 1
# Stands where the pid will be. No number of a call and no constant of a rule looks like it.
_ANY_PID = 0xFEDC_BA98


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class PreparedFilter:
    """The filter, but for the number of the process that it is for.

    A zygote makes it before it forks: its children then write to few pages.
    """

    def __init__(self, *, own_files: bool = False) -> None:
        """Assemble the filter.

        With `own_files` the candidate may also make, change and delete files: it needs its own
        root.
        """
        code = build_filter(libc.MACHINE, pid=_ANY_PID, own_files=own_files)
        self._words = (ctypes.c_uint32 * (len(code) // 4)).from_buffer_copy(code)
        self._places = [place for place, word in enumerate(self._words) if word == _ANY_PID]
        self._program = _Program(len(code) // 8, ctypes.addressof(self._words))
        self._install = libc.prepare_syscall(
            "seccomp", _SET_MODE_FILTER, 0, ctypes.byref(self._program)
        )

    def install(self) -> None:
        """Put it on this process, which must have one thread and no_new_privs, for good."""
        pid = os.getpid()
        for place in self._places:
            self._words[place] = pid
        self._install()


def build_filter(machine: str, *, pid: int, own_files: bool = False) -> bytes:
    """The filter for the process `pid`, as the kernel reads it: 8 bytes per instruction."""
    if pid < 1:
        raise ValueError(f"`{pid}` is not the number of a process")  # 0 and below are groups
    return _assemble(machine, own_files=own_files).replace(pack("=I", _ANY_PID), pack("=I", pid))


def _assemble(machine: str, *, own_files: bool) -> bytes:
    answers = _collect_answers(machine, own_files=own_files)
    instructions = [
        (_LOAD, 0, 0, _AT_ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _AT_NUMBER),
    ]
    # In stretches: comparing a call with all numbers is slow, and the kernel tries every call there
    # is when the filter is installed.
    for start in range(0, len(answers), _STRETCH):
        stretch = answers[start : start + _STRETCH]
        body = [step for answer in stretch for step in _guard_answer(answer)] + _REFUSE
        instructions += [(_GREATER, len(body), 0, stretch[-1][1]), *body]
    instructions += _REFUSE
    return b"".join(pack("=HBBI", *instruction) for instruction in instructions)


def _guard_answer(answer: Answer) -> list[Instruction]:
    """An answer that only its numbers get. It returns, so later answers still see the number."""
    first, last, steps = answer
    if first == last:
        return [(_EQUAL, 0, len(steps), first), *steps]
    return [(_AT_LEAST, 0, len(steps) + 1, first), (_GREATER, len(steps), 0, last), *steps]


def _collect_answers(machine: str, *, own_files: bool) -> list[Answer]:
    """All that is not refused, by number. Neighbours with the same answer share it."""
    allowed = syscalls.ALLOWED + (syscalls.OWN_FILES if own_files else ())
    unsupported = (_RETURN, 0, 0, _ERRNO | errno.EOPNOTSUPP)
    steps = {
        **_RULES,
        **{name: [(_RETURN, 0, 0, _ALLOW)] for name in allowed},
        **{name: [unsupported] for name in syscalls.UNSUPPORTED},
    }
    answers: list[Answer] = []
    numbers = syscalls.numbers(machine)
    for name, number in sorted(numbers.items(), key=lambda item: item[1]):
        if name not in steps:
            continue
        first, last, before = answers[-1] if answers else (number, -1, [])
        if (last + 1, before) == (number, steps[name]):
            answers[-1] = (first, number, before)
        else:
            answers.append((number, number, steps[name]))
    return answers


def _rule(*tests: list[Instruction], error: int = errno.EPERM) -> list[Instruction]:
    """Allow a call if all tests of its arguments hold; else it gets `error`."""
    refusal = (_RETURN, 0, 0, _ERRNO | error)
    steps = [step for test in tests for step in (*test, refusal)]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _test(
    argument: int, *values: int, mask: int = 0xFFFF_FFFF, high: bool = False
) -> list[Instruction]:
    """Skip the step that follows if the bits in `mask` of one argument are one of `values`.

    A register has 64 bits. Most arguments are an `int` to the kernel, which looks at the low half
    alone, and so does the filter. Only a pointer is compared as a whole.
    """
    count = len(values)
    return [
        (_LOAD, 0, 0, _AT_ARGUMENTS + 8 * argument + 4 * high),
        (_AND, 0, 0, mask),
        *((_EQUAL, count - place, 0, value) for place, value in enumerate(values)),
    ]


_OWN_PID = _rule(_test(0, _ANY_PID))

# What a thread shares with its maker: memory, root and umask, descriptors, signal handlers, the
# process, undo of semaphores. libc asks for all of it; a new process shares less.
_SHARED_BY_THREADS = 0x100 | 0x200 | 0x400 | 0x800 | 0x1_0000 | 0x4_0000
# Where its storage is and where its number goes; and a bit that musl sets and no kernel reads.
_TOLD_OF_A_THREAD = 0x8_0000 | 0x10_0000 | 0x20_0000 | 0x100_0000 | 0x40_0000

# F_DUPFD, then get and set of descriptor flags, file flags and locks.
_F_DUPFD_TO_F_SETLKW = range(8)
_F_OFD_GETLK, _F_OFD_SETLK, _F_OFD_SETLKW = 36, 37, 38
_F_DUPFD_CLOEXEC, _F_GETPIPE_SZ = 1030, 1032

_AF_UNIX, _SOCK_STREAM, _SOCK_CLOEXEC, _SOCK_NONBLOCK = 1, 1, 0x8_0000, 0x800
_SOL_SOCKET = 1
_SO_TYPE, _SO_ERROR, _SO_SNDBUF, _SO_RCVBUF, _SO_PROTOCOL, _SO_DOMAIN = 3, 4, 7, 8, 38, 39

_TCGETS, _TIOCGWINSZ, _FIONREAD, _FIONBIO = 0x5401, 0x5413, 0x541B, 0x5421
_FIONCLEX, _FIOCLEX, _FICLONE = 0x5450, 0x5451, 0x4004_9409

_MAP_LOCKED, _MAP_HUGETLB = 0x2000, 0x4_0000

_O_RDONLY, _O_WRONLY, _O_RDWR, _O_ACCMODE, _O_TRUNC = 0, 1, 2, 3, 0x200
_MODES = (_O_RDONLY, _O_WRONLY, _O_RDWR, _O_WRONLY | _O_TRUNC, _O_RDWR | _O_TRUNC)

_PR_GET_DUMPABLE, _PR_SET_NAME, _PR_GET_NAME = 3, 15, 16
_PR_GET_SECCOMP, _PR_GET_NO_NEW_PRIVS = 21, 39

_RULES = {
    # A thread and no process, which could outlive this one. The kernel reads the low half of the
    # flags, and no CLONE_NEW bit is in either set.
    "clone": _rule(_test(0, _SHARED_BY_THREADS, mask=0xFFFF_FFFF ^ _TOLD_OF_A_THREAD)),
    # Not F_SETOWN and F_SETSIG (a signal to anyone), F_SETLEASE and F_NOTIFY (a hold on files of
    # others, and news of them), F_SETPIPE_SZ (memory that no limit counts).
    "fcntl": _rule(
        _test(
            1,
            *_F_DUPFD_TO_F_SETLKW,
            *(_F_OFD_GETLK, _F_OFD_SETLK, _F_OFD_SETLKW, _F_DUPFD_CLOEXEC, _F_GETPIPE_SZ),
        )
    ),
    # Not SO_PEERPIDFD, which opens a handle on another process.
    "getsockopt": _rule(
        _test(1, _SOL_SOCKET),
        _test(2, _SO_TYPE, _SO_ERROR, _SO_SNDBUF, _SO_RCVBUF, _SO_PROTOCOL, _SO_DOMAIN),
    ),
    # Not TIOCSTI, which types into a terminal. FICLONE copies from one open file to another:
    # `pathlib` tries it first, and goes on only after the kernel's own refusal.
    "ioctl": _rule(
        _test(1, _TCGETS, _TIOCGWINSZ, _FIONREAD, _FIONBIO, _FIONCLEX, _FIOCLEX, _FICLONE),
        error=errno.ENOTTY,
    ),
    # To oneself by one's number: 0, -1 and what is below are groups. `tgkill` finds only threads
    # of the process that it names. `tkill` names a thread, and ours with the number of the process
    # is the main one; musl has it where glibc has `tgkill`.
    "kill": _OWN_PID,
    "tgkill": _OWN_PID,
    "tkill": _OWN_PID,
    # A limit bounds memory as such; locked memory and huge pages are taken from everybody.
    "mmap": _rule(_test(3, 0, mask=_MAP_LOCKED | _MAP_HUGETLB)),
    # Mode 3 is neither reading nor writing, and Landlock asks for no right. To empty a file while
    # opening it to read is a write that Landlock did not see before its third version.
    "open": _rule(_test(1, *_MODES, mask=_O_ACCMODE | _O_TRUNC)),
    "openat": _rule(_test(2, *_MODES, mask=_O_ACCMODE | _O_TRUNC)),
    "prctl": _rule(
        _test(
            0,
            *(_PR_GET_DUMPABLE, _PR_SET_NAME, _PR_GET_NAME),
            *(_PR_GET_SECCOMP, _PR_GET_NO_NEW_PRIVS),
        )
    ),
    # One's own limits; the kernel lets nobody raise them who has no capability.
    "prlimit64": _rule(_test(0, 0, _ANY_PID)),
    # Without an address: to the other end of a pair.
    "sendto": _rule(_test(4, 0), _test(4, 0, high=True)),
    # A stream between two ends leads nowhere else. A datagram (SOCK_RAW becomes one) can be
    # sent to every socket of the host that has a name.
    "socketpair": _rule(
        _test(0, _AF_UNIX),
        _test(1, _SOCK_STREAM, mask=0xFFFF_FFFF ^ (_SOCK_CLOEXEC | _SOCK_NONBLOCK)),
    ),
}
