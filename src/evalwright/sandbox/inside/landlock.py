"""Landlock: some paths may be read, and nothing else of the filesystem may be touched.

It needs no namespaces and no rights. What it cannot do: hide what `stat` tells of a path, or refuse
what no right of it covers (`chmod`, `utime` and the like): the seccomp filter refuses those.
"""

from __future__ import annotations

import errno
import os
from struct import pack

from . import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_EXECUTE_TO_MAKE_SYM = (1 << 13) - 1
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
# Rights of the filesystem that came with a later ABI: REFER, TRUNCATE, IOCTL_DEV, RESOLVE_UNIX.
_LATER = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15, 9: 1 << 16}
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_ABI_NETWORK = 4
_ABI_SCOPES = 6
_ABI_QUIET = 7

_VERSION = 1  # flag of landlock_create_ruleset: say the ABI, make nothing
_PATH_BENEATH = 1  # kind of rule
_LOG_SAME_EXEC_OFF = 1  # flag of landlock_restrict_self

_FILE_TYPE = 0o170000
_DIRECTORY = 0o040000


def abi() -> int:
    """The version of Landlock that the kernel speaks, 0 when it speaks none."""
    try:
        return libc.syscall("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0  # no Landlock in this kernel, or switched off, or an unknown machine


def make_ruleset(
    readable: Sequence[str], devices: Sequence[str] = (), listable: Sequence[str] = ()
) -> int:
    """Write rules down: a descriptor that `enforce` takes, often if need be.

    What is beneath a directory of `readable` can be listed and read, a file there can be read;
    a file of `devices` can be read and written; directories of `listable`, and those beneath them,
    show their names. Everything else is refused, and so are TCP (ABI 4) and signals and abstract
    sockets across the border (ABI 6).
    """
    version = abi()
    if not version:
        raise OSError(
            errno.EOPNOTSUPP,
            "the kernel has no Landlock (5.13 and newer have), or has it switched off",
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
    # A candidate could fill the log of the host with refusals.
    flags = _LOG_SAME_EXEC_OFF if abi() >= _ABI_QUIET else 0
    libc.syscall("landlock_restrict_self", ruleset, flags)


def _attributes(version: int) -> bytes:
    """Everything that this version can refuse. What is not named would stay allowed."""
    handled = _EXECUTE_TO_MAKE_SYM
    for since, right in _LATER.items():
        if version >= since:
            handled |= right
    fields = [handled]
    if version >= _ABI_NETWORK:
        fields.append(_BIND_AND_CONNECT_TCP)
    if version >= _ABI_SCOPES:
        fields.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    return pack(f"={len(fields)}Q", *fields)


def _allow(ruleset: int, path: str, rights: int, of_directories: int = 0) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if os.fstat(fd).st_mode & _FILE_TYPE == _DIRECTORY:
            rights |= of_directories
        libc.syscall("landlock_add_rule", ruleset, _PATH_BENEATH, pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
