"""The tier `landlock+seccomp`: no namespace, no path that can be written, few that can be read.

For systems that forbid user namespaces. What differs from the other tier: `stat` and `readlink`
still tell which files the host has; there is no `/tmp`; processes are told apart by seccomp (a
signal goes to oneself or nowhere) and not by a pid namespace.
"""

from __future__ import annotations

import os

from . import kernel, landlock, libc, walls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .layout import Layout

TIER = "landlock+seccomp"

_OTHERS_READ = 0o5
# Where systems have no users: far above those of people, services and containers.
_FIRST_USER = 3_000_000_000


def enter(layout: Layout) -> Cell:
    """Become nobody, if we are root, and the one to whom orphans fall."""
    keep = None
    if walls.is_root():
        private = not all(_reachable(path) for path in layout.open_directories)
        keep = kernel.CAP_DAC_READ_SEARCH if private else None
        os.setgroups([])
        libc.prctl(kernel.PR_SET_KEEPCAPS, 1)
        os.setresgid(walls.NOBODY, walls.NOBODY, walls.NOBODY)
        _become_nobody()
    libc.drop_capabilities(keep=keep)
    libc.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    os.chdir("/")
    readable = [*layout.open_directories, *layout.open_files]
    walls.prepare(own_files=False)
    return Cell(landlock.make_ruleset(readable, walls.devices(), layout.listable))


def _become_nobody() -> None:
    """A nobody of its own: threads are counted by user, and no worker's are another's."""
    user = _FIRST_USER + os.getpid()
    try:
        os.setresuid(user, user, user)
    except OSError:  # a container that has no such users
        os.setresuid(walls.NOBODY, walls.NOBODY, walls.NOBODY)


def _reachable(path: str) -> bool:
    """Whether everybody may walk to it and list it."""
    while path != "/":
        if os.stat(path).st_mode & _OTHERS_READ != _OTHERS_READ:  # noqa: PTH116 - no pathlib here
            return False
        path = os.path.dirname(path)  # noqa: PTH120 - no pathlib here
    return True


class Cell:
    """One candidate after another, each in a child of its own."""

    def __init__(self, ruleset: int) -> None:
        self._ruleset = ruleset
        self._threads = _threads_of_this_user() + walls.THREADS
        self._parent = 0

    def before_fork(self) -> None:
        """In the zygote."""
        self._parent = os.getpid()

    def after_fork(self, *, cpu_s: int) -> None:
        """In its child: end with the zygote, and see no file but the interpreter's.

        Before the next fork: a signal at the death of the parent crosses no border of Landlock's.
        """
        self._end_with(self._parent)
        self._parent = os.getpid()
        landlock.enforce(self._ruleset)
        walls.allow(cpu_s)

    def seal(self, *kept: int) -> None:
        """In every process of the candidate, at last. It has no descriptors but `kept`."""
        if os.getpid() != self._parent:
            self._end_with(self._parent)
        walls.seal(kept=kept, threads=self._threads, own_files=False)

    def _end_with(self, parent: int) -> None:
        libc.prctl(kernel.PR_SET_PDEATHSIG, kernel.SIGKILL)
        if os.getppid() != parent:  # it has gone already
            os._exit(1)

    def reap(self, first: int) -> int:
        """In the zygote: wait until nothing is left. The status, as a shell counts."""
        status = os.waitpid(first, 0)[1]
        try:
            while True:
                os.waitpid(-1, 0)  # what it has left behind falls to the zygote
        except ChildProcessError:
            return walls.status(status)


def _threads_of_this_user() -> int:
    """How many run already: outside a user namespace the kernel counts all of a user's."""
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
