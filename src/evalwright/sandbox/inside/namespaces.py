"""The tier `namespaces+seccomp`: its own root, with nothing in it but Python.

Once per worker, before its first candidate (`enter`):

    user namespace      where this process may do the rest, whoever started it
    root                a small tmpfs with what `layout` says Python needs, read-only; no `/proc`,
                        `/sys`, `/etc`, home
    identity            uid and gid of nobody inside; outside the user's own, or nobody's for root
    network             a namespace with nothing in it
    pid namespace       the zygote is its first process: when it ends, the kernel ends the rest

Once per candidate (`NamespaceCell`): a pid namespace, whose first process is the evaluator, and
user, mount, ipc and uts namespaces with an empty `/tmp`.
"""

from __future__ import annotations

import errno
import os
import stat

from . import libc, walls
from .layout import JailLayout

TIER = "namespaces+seccomp"

# And pids. No network: the worker's own stays empty (seccomp refuses sockets), and another would
# cost a tenth of a candidate's time.
_OF_A_CANDIDATE = libc.CLONE_NEWUSER | libc.CLONE_NEWNS | libc.CLONE_NEWIPC | libc.CLONE_NEWUTS
_OF_A_WORKER = _OF_A_CANDIDATE | libc.CLONE_NEWNET | libc.CLONE_NEWPID
# Flags that a remount inside a user namespace must keep.
_KEPT = {
    os.ST_NOEXEC: libc.MS_NOEXEC,
    os.ST_NOATIME: libc.MS_NOATIME,
    os.ST_NODIRATIME: libc.MS_NODIRATIME,
    libc.ST_RELATIME: libc.MS_RELATIME,
}

_HOST_NAME = b"sandbox"
# Any directory will do: it is hidden in this namespace only, and its content was opened before.
_MOUNT_POINT = "/tmp"  # noqa: S108 - nothing is written to the host's
# A candidate's own; where `tempfile` looks, in its order.
_SCRATCH = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 - none of them is the host's


def enter(layout: JailLayout) -> NamespaceCell:
    """Jail this process. Returns in the zygote, a child of the caller.

    The caller waits for the zygote, and ends with its status.
    """
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    outside = (os.getuid(), os.getgid())
    if walls.is_root():
        outside = (walls.NOBODY, walls.NOBODY)
        os.setgroups([])
    _unshare_with_maps(proc, outside)
    # Opened now, mounted later: nobody may not walk through private folders. Not earlier: a mount
    # comes from one's own namespace only.
    sources = {
        path: os.open(path, os.O_PATH | os.O_CLOEXEC)
        for path in (*layout.directories, *layout.files, *walls.devices())
    }
    os.setresgid(walls.NOBODY, walls.NOBODY, walls.NOBODY)
    os.setresuid(walls.NOBODY, walls.NOBODY, walls.NOBODY)
    # A process that has changed its uid is not dumpable, and cannot use its own `/proc` entry.
    libc.prctl(libc.PR_SET_DUMPABLE, 1)
    libc.call("sethostname", _HOST_NAME, len(_HOST_NAME))
    scratch = _find_scratch(sources)
    _change_root(layout, sources, scratch)

    zygote = os.fork()
    if zygote:
        walls.close_all_but(())
        os._exit(walls.exit_status(os.waitpid(zygote, 0)[1]))
    libc.prctl(libc.PR_SET_PDEATHSIG, libc.SIGKILL)
    return NamespaceCell(proc, scratch)


def _unshare_with_maps(proc: int, outside: tuple[int, int]) -> None:
    """New namespaces, in which nobody is `outside`.

    A child writes the maps: only a process outside may map an id that is not its own.
    """
    me = os.getpid()
    wait, go = os.pipe()
    writer = os.fork()
    if not writer:
        os.close(go)
        status = 1
        try:
            if os.read(wait, 1):
                _write_maps(proc, str(me), outside)
                status = 0
        except OSError as error:
            status = error.errno or 1
        finally:
            os._exit(status)
    os.close(wait)
    try:
        libc.call("unshare", _OF_A_WORKER)
        os.write(go, b"!")
    finally:
        os.close(go)
        status = walls.exit_status(os.waitpid(writer, 0)[1])
    if status:
        raise OSError(status, os.strerror(status), "uid_map")


def _write_maps(proc: int, process: str, outside: tuple[int, int]) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{walls.NOBODY} {outside[0]} 1"),
        ("gid_map", f"{walls.NOBODY} {outside[1]} 1"),
    ):
        file = os.open(f"{process}/{name}", os.O_WRONLY, dir_fd=proc)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def _find_scratch(sources: dict[str, int]) -> str:
    """The folder that a candidate may write to. It hides nothing that is shown."""
    for folder in _SCRATCH:
        if not any(path.startswith(f"{folder}/") for path in sources):
            return folder
    raise OSError(f"the interpreter lies in all of {', '.join(_SCRATCH)}: no room to write")


def _change_root(layout: JailLayout, sources: dict[str, int], scratch: str) -> None:
    libc.mount(None, "/", None, libc.MS_REC | libc.MS_PRIVATE)
    _cover(_MOUNT_POINT, "size=1m,mode=755")
    # In the order of their paths: something shown may lie in a hidden folder, and that in a shown.
    for path in sorted((*sources, *layout.hidden)):
        if path in layout.hidden:
            _cover(_MOUNT_POINT + path, "size=64k,mode=755")
        else:
            _show(path, sources[path])
            os.close(sources[path])
    for path, destination in layout.links:
        _make_parents(path)
        os.symlink(destination, _MOUNT_POINT + path)  # noqa: PTH211 - no pathlib here
    os.makedirs(_MOUNT_POINT + scratch, 0o755, exist_ok=True)  # noqa: PTH103 - no pathlib here
    for path in ("", *layout.hidden):
        _make_read_only(_MOUNT_POINT + path)
    os.chdir(_MOUNT_POINT)
    # Put the new root on top of the old one, then detach the old one.
    libc.syscall("pivot_root", ".", ".")
    libc.call("umount2", ".", libc.MNT_DETACH)
    os.chdir("/")


def _show(path: str, descriptor: int) -> None:
    """Bind what `descriptor` is open on, read-only, at its own path in the new root."""
    target = _MOUNT_POINT + path
    _make_parents(path)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.makedirs(target, 0o755, exist_ok=True)  # noqa: PTH103 - no pathlib here
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    libc.mount(f"/proc/self/fd/{descriptor}", target, None, libc.MS_BIND | libc.MS_REC)
    _make_read_only(target, devices=path in walls.devices())


def _cover(target: str, data: str) -> None:
    libc.mount("tmpfs", target, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, data)


def _make_read_only(target: str, *, devices: bool = False) -> None:
    flags = libc.MS_REMOUNT | libc.MS_BIND | libc.MS_RDONLY | libc.MS_NOSUID
    flags |= 0 if devices else libc.MS_NODEV
    now = os.statvfs(target).f_flag
    for present, flag in _KEPT.items():
        flags |= flag if now & present else 0
    libc.mount(None, target, None, flags)


def _make_parents(path: str) -> None:
    os.makedirs(os.path.dirname(_MOUNT_POINT + path), 0o755, exist_ok=True)  # noqa: PTH103, PTH120


class NamespaceCell:
    """The namespaces of one candidate after another."""

    def __init__(self, proc: int, scratch: str) -> None:
        """`scratch` is the folder that a candidate may write to."""
        self._proc, self.scratch = proc, scratch
        self._filter = walls.prepare(own_files=True)
        own = os.open("self/ns/pid", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
        # The kernel makes no second one until the zygote is back in its own.
        self._return = libc.PreparedCall("setns", own, libc.CLONE_NEWPID)
        self._new_pids = libc.PreparedCall("unshare", libc.CLONE_NEWPID)
        self._new_rest = libc.PreparedCall("unshare", _OF_A_CANDIDATE)
        flags = libc.MS_NOSUID | libc.MS_NODEV | libc.MS_NOEXEC
        options = f"size={walls.TMP_BYTES},nr_inodes={walls.TMP_FILES},mode=777"
        self._mount = libc.PreparedCall("mount", "tmpfs", scratch, "tmpfs", flags, options)
        self._drop = (
            *libc.prepare_capability_drop(),
            libc.prepare_prctl(libc.PR_SET_DUMPABLE, 0),
        )

    def before_fork(self) -> None:
        """In the zygote: the next child is the first process of a new pid namespace."""
        self._return()
        self._new_pids()

    def after_fork(self, *, cpu_s: int) -> None:
        """In that child: the other namespaces, and an empty folder to work in."""
        self._new_rest()
        _write_maps(self._proc, "self", (walls.NOBODY, walls.NOBODY))
        self._mount()
        os.chdir(self.scratch)
        walls.limit_cpu(cpu_s)
        # Counted in the new user namespace: what else this user runs makes no difference.
        walls.limit_threads(walls.THREADS)
        for drop in self._drop:
            drop()

    def seal(self, *kept: int) -> None:
        """In every process of the candidate, last: close all descriptors but `kept`, and filter."""
        walls.close_all_but(kept)
        self._filter.install()

    def reap(self, first: int) -> int:
        """In the zygote: wait until nothing is left; return the status as a shell does."""
        return walls.exit_status(os.waitpid(first, 0)[1])


def explain_error(error: OSError) -> str:
    """What a user can do about an error of `enter`."""
    text = libc.describe_error(error)
    if error.filename == "unshare" and error.errno in {errno.EPERM, errno.EACCES}:
        return (
            f"{text}: user namespaces are forbidden here (sysctl kernel.unprivileged_userns_clone"
            " or kernel.apparmor_restrict_unprivileged_userns, or a container's own filter)"
        )
    if error.filename == "unshare" and error.errno in {errno.ENOSPC, errno.EUSERS}:
        return f"{text}: the limit user.max_user_namespaces is reached, or zero"
    return text
