"""The tier `landlock+seccomp`: no namespace, no path that can be written, few that can be read.

For systems that forbid user namespaces. Differences from the other tier: `stat` and `readlink` tell
which files the host has; there is no `/tmp`; processes are separated by seccomp (a signal goes to
oneself or nowhere) and not by a pid namespace. What no right of Landlock covers (`chmod`, `utime`)
the seccomp filter refuses.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR
from struct import pack

from . import libc, walls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .layout import JailLayout

_OTHERS_READ = 0o5
# Far above the users of people, services and containers.
_FIRST_USER = 3_000_000_000
_EXECUTE_TO_MAKE_SYM = (1 << 13) - 1
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
# Rights of the filesystem that came with a later ABI: REFER, TRUNCATE, IOCTL_DEV, RESOLVE_UNIX.
_LATER = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15, 9: 1 << 16}
# Whole sets of rights that came later: to bind and connect TCP; abstract sockets and signals.
_LATER_SETS = {4: 0b11, 6: 0b11}
_ABI_QUIET = 7

_VERSION = 1  # flag of landlock_create_ruleset: say the ABI, make nothing
_PATH_BENEATH = 1  # kind of rule
_LOG_SAME_EXEC_OFF = 1  # flag of landlock_restrict_self


def enter(layout: JailLayout) -> LandlockCell:
    """Become nobody, if we are root, and the reaper of orphans."""
    keep = None
    if walls.is_root():
        private = not all(_reachable(path) for path in layout.open_directories)
        keep = libc.CAP_DAC_READ_SEARCH if private else None
        os.setgroups([])
        libc.prctl(libc.PR_SET_KEEPCAPS, 1)
        os.setresgid(walls.NOBODY, walls.NOBODY, walls.NOBODY)
        _become_nobody()
    libc.drop_capabilities(keep=keep)
    libc.prctl(libc.PR_SET_CHILD_SUBREAPER, 1)
    os.chdir("/")
    readable = [*layout.open_directories, *layout.open_files]
    return LandlockCell(make_ruleset(readable, walls.devices(), layout.listable))


def _become_nobody() -> None:
    """Take a user of its own: threads are counted by user."""
    user = _FIRST_USER + os.getpid()
    try:
        os.setresuid(user, user, user)
    except OSError:  # a container that has no such users
        os.setresuid(walls.NOBODY, walls.NOBODY, walls.NOBODY)


def _reachable(path: str) -> bool:
    while path != "/":
        if os.stat(path).st_mode & _OTHERS_READ != _OTHERS_READ:  # noqa: PTH116 - no pathlib here
            return False
        path = os.path.dirname(path)  # noqa: PTH120 - no pathlib here
    return True


class LandlockCell:
    """One candidate after another, each in a child of its own."""

    scratch = ""
    """No folder can be written to."""

    def __init__(self, ruleset: int) -> None:
        self._ruleset = ruleset
        self._filter = walls.prepare(own_files=False)
        self._threads = _threads_of_this_user() + walls.THREADS
        self._parent = 0

    def before_fork(self) -> None:
        """In the zygote."""
        self._parent = os.getpid()

    def after_fork(self, *, cpu_s: int) -> None:
        """In its child: end with the zygote, and see no file but the interpreter's."""
        # Before Landlock: the signal at the parent's death does not cross its border.
        self._end_with(self._parent)
        self._parent = os.getpid()
        enforce(self._ruleset)
        walls.limit_cpu(cpu_s)

    def seal(self, *kept: int) -> None:
        """In every process of the candidate, last: close all descriptors but `kept`, and filter."""
        if os.getpid() != self._parent:
            self._end_with(self._parent)
        walls.close_all_but(kept)
        # Not earlier: the kernel counts all threads of this user, and the zygote must always be
        # able to fork.
        walls.limit_threads(self._threads)
        self._filter.install()

    def _end_with(self, parent: int) -> None:
        libc.prctl(libc.PR_SET_PDEATHSIG, libc.SIGKILL)
        if os.getppid() != parent:  # it has gone already
            os._exit(1)

    def reap(self, first: int) -> int:
        """In the zygote: wait until nothing is left; return the status as a shell does."""
        status = os.waitpid(first, 0)[1]
        try:
            while True:
                os.waitpid(-1, 0)  # what it has left behind falls to the zygote
        except ChildProcessError:
            return walls.exit_status(status)


def _threads_of_this_user() -> int:
    """How many run already: without a user namespace the kernel counts them all."""
    me, total = os.getuid(), 0
    try:
        processes = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return 0
    for process in processes:
        try:
            if os.stat(f"/proc/{process}").st_uid == me:  # noqa: PTH116 - no pathlib here
                total += len(os.listdir(f"/proc/{process}/task"))  # noqa: PTH208 - no pathlib here
        except OSError:
            continue
    return total


def abi() -> int:
    """The kernel's version of Landlock; 0 for none."""
    try:
        return libc.syscall("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0  # no Landlock in this kernel, or switched off, or an unknown machine


def make_ruleset(
    readable: Sequence[str], devices: Sequence[str] = (), listable: Sequence[str] = ()
) -> int:
    """Make rules: a descriptor that `enforce` takes, any number of times.

    Files of `readable` and all beneath its directories can be read, `devices` read and written;
    directories of `listable` and those beneath them can be listed. Everything else is refused, and
    so are TCP (ABI 4) and signals and abstract sockets across the border (ABI 6).
    """
    version = abi()
    if not version:
        raise OSError(
            errno.EOPNOTSUPP,
            "the kernel has no Landlock (5.13 or newer), or Landlock is disabled",
        )
    attributes = _attributes(version)
    ruleset = libc.syscall("landlock_create_ruleset", attributes, len(attributes), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE, _READ_DIR)
        for path in devices:
            _allow(ruleset, path, _READ_FILE | _WRITE_FILE)
        for path in listable:
            _allow(ruleset, path, 0, _READ_DIR)
    except OSError:
        os.close(ruleset)
        raise
    return ruleset


def enforce(ruleset: int) -> None:
    """Confine this process, which must have one thread, and its children to a ruleset."""
    libc.forbid_new_privileges()
    # Else a candidate could fill the host's log with refusals.
    flags = _LOG_SAME_EXEC_OFF if abi() >= _ABI_QUIET else 0
    libc.syscall("landlock_restrict_self", ruleset, flags)


def _attributes(version: int) -> bytes:
    """Everything that this version can refuse. What is left out would stay allowed."""
    later = sum(right for since, right in _LATER.items() if version >= since)
    sets = [rights for since, rights in _LATER_SETS.items() if version >= since]
    return pack(f"={1 + len(sets)}Q", _EXECUTE_TO_MAKE_SYM | later, *sets)


def _allow(ruleset: int, path: str, rights: int, of_directories: int = 0) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if S_ISDIR(os.fstat(fd).st_mode):
            rights |= of_directories
        libc.syscall("landlock_add_rule", ruleset, _PATH_BENEATH, pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
