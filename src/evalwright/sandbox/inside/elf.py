"""Shared objects: what an ELF file needs, and where the dynamic loader would find it.

A jailed process can still `dlopen` extension modules, so all that they need must be in the jail, at
the paths that the loader tries. `Libraries` follows the needs of a file as glibc does: RPATH and
RUNPATH with `$ORIGIN`, the default directories, the loader's cache. Files that are unreadable, not
ELF, or of another machine are ignored.

Does not:   know LD_LIBRARY_PATH (the environment is empty), other `$` words than `$ORIGIN`, or
            what a library opens by name while it runs.
"""

# ruff: noqa: PTH120, PTH123
# pathlib would double what the process has loaded, and each of its forks would cost more.

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

CACHE = "/etc/ld.so.cache"

_TRIPLET = f"{os.uname().machine}-linux-gnu"
_DIRECTORIES = (
    f"/lib/{_TRIPLET}", f"/usr/lib/{_TRIPLET}", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
)  # fmt: skip
_MACHINES = {"x86_64": 62, "aarch64": 183}
_CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER = 48  # bytes: magic, number of entries, size of strings, flags, five spare words
_CACHE_ENTRY = 24  # flags, offset of the name, offset of the path, version of the system, hwcap
_MAX_BYTES = 64 * 1024
_PATH_BYTES = 4096
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 1, 5, 15, 29


class Elf(NamedTuple):
    """What one file asks of the loader."""

    needed: list[str]
    identity: tuple[int, int] = (0, 0)
    interpreter: str = ""
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def read(path: str) -> Elf | None:
    """The needs of a 64-bit ELF file of this machine; None for any other file."""
    try:
        # Do not wait for a pipe with the name of a library.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        return _parse(descriptor, os.path.dirname(path))
    except (OSError, ValueError, TypeError, IndexError, OverflowError):
        return None
    finally:
        os.close(descriptor)


class Libraries:
    """The shared objects that `executable` and all that is added to it would open."""

    def __init__(self, executable: str) -> None:
        self.paths: set[str] = set()
        """As the loader opens them, with links unresolved."""
        self.needs_cache = False
        """Whether one of them, not loaded yet, is found only in the loader's cache."""
        self._directories: tuple[str, ...] = _DIRECTORIES
        self._cached: dict[str, list[str]] | None = None
        self._followed: set[tuple[int, int]] = set()
        self._found: dict[tuple[str, tuple[str, ...]], dict[str, Elf]] = {}
        self._loaded: set[str] = set()
        self._rpath: tuple[str, ...] = ()
        main = read(executable)
        if main is not None:
            self._rpath = main.rpath
            if main.interpreter:
                self.paths.add(main.interpreter)
                self._directories += (os.path.dirname(main.interpreter),)
            # What the interpreter has loaded is used by all that need it.
            self._loaded = self._follow([(main, ())])
            self.needs_cache = False

    def add(self, path: str) -> None:
        """Follow the needs of a file. The file itself is not among `paths`."""
        elf = read(path)
        if elf is not None:
            self._follow([(elf, ())])

    def add_name(self, name: str) -> None:
        """Follow the needs of a library that is opened by its name."""
        self._follow([(Elf([name]), ())])

    def _follow(self, pending: list[tuple[Elf, tuple[str, ...]]]) -> set[str]:
        names: set[str] = set()
        while pending:
            elf, inherited = pending.pop()
            passed_on = elf.rpath + inherited
            search = elf.runpath or passed_on + self._rpath
            for name in elf.needed:
                if name in self._loaded:
                    continue
                names.add(name)
                for path, library in self._find(name, search).items():
                    self.paths.add(path)
                    # Two that need each other, each by a path from its own, have no end of names.
                    if library.identity not in self._followed:
                        self._followed.add(library.identity)
                        pending.append((library, passed_on))
        return names

    def _find(self, name: str, search: tuple[str, ...]) -> dict[str, Elf]:
        key = (name, search)
        if key not in self._found:
            self._found[key] = self._look(name, search)
        return self._found[key]

    def _look(self, name: str, search: tuple[str, ...]) -> dict[str, Elf]:
        if "/" in name:
            return _read_all([name])
        for directory in search + self._directories:
            if elfs := _read_all([f"{directory}/{name}"]):
                return elfs
        if self._cached is None:
            self._cached = _read_cache()
        # All variants, whatever the processor: the loader chooses one.
        if elfs := _read_all(self._cached.get(name, [])):
            self.needs_cache = True
            return elfs
        return _read_all([f"/usr/local/lib/{name}"])  # where musl looks, which has no cache


def _read_all(paths: list[str]) -> dict[str, Elf]:
    return {path: elf for path in paths if (elf := read(path)) is not None}


def _parse(descriptor: int, origin: str) -> Elf | None:
    def pread(size: int, at: int) -> bytes:
        return os.pread(descriptor, size, at)

    head = pread(64, 0)
    machine = _MACHINES.get(os.uname().machine)
    if head[:6] != b"\x7fELF\x02\x01" or sys.byteorder != "little":
        return None
    halves = memoryview(head).cast("H")
    if halves[9] != machine:
        return None
    segments = _segments(pread, table=memoryview(head).cast("Q")[4], count=halves[28])
    interpreter = ""
    dynamic: list[tuple[int, int]] = []
    for kind, offset, _, size in segments:
        if kind == _PT_INTERP:
            interpreter = _text(pread(min(size, _PATH_BYTES), offset))
        elif kind == _PT_DYNAMIC:
            words = _words(pread(min(size, _MAX_BYTES), offset))
            pairs = zip(words[::2], words[1::2], strict=False)
            dynamic = list(takewhile(lambda pair: pair[0], pairs))
    status = os.fstat(descriptor)
    elf = Elf([], (status.st_dev, status.st_ino), interpreter)
    values = dict(dynamic)
    if _DT_STRTAB not in values:
        return elf
    strings = _in_file(segments, values[_DT_STRTAB])
    elf.needed.extend(
        _text(pread(_PATH_BYTES, strings + at)) for tag, at in dynamic if tag == _DT_NEEDED
    )
    if _DT_RUNPATH in values:
        data = pread(_PATH_BYTES, strings + values[_DT_RUNPATH])
        return elf._replace(runpath=_directories(data, origin))
    if _DT_RPATH in values:  # ignored beside a RUNPATH
        data = pread(_PATH_BYTES, strings + values[_DT_RPATH])
        return elf._replace(rpath=_directories(data, origin))
    return elf


def _segments(
    pread: Callable[[int, int], bytes], *, table: int, count: int
) -> list[tuple[int, int, int, int]]:
    """Kind, place in the file, address and size in the file of each segment."""
    words = _words(pread(count * 56, table))
    return [
        (words[at] & 0xFFFFFFFF, words[at + 1], words[at + 2], words[at + 4])
        for at in range(0, len(words) - 6, 7)
    ]


def _in_file(segments: list[tuple[int, int, int, int]], address: int) -> int:
    for kind, offset, start, size in segments:
        if kind == _PT_LOAD and start <= address < start + size:
            return offset + address - start
    raise ValueError("an address that is nowhere in the file")


def _words(data: bytes) -> list[int]:
    return memoryview(data[: len(data) // 8 * 8]).cast("Q").tolist()


def _text(data: bytes) -> str:
    return os.fsdecode(data.partition(b"\0")[0])


def _directories(data: bytes, origin: str) -> tuple[str, ...]:
    paths = _text(data).replace("${ORIGIN}", origin).replace("$ORIGIN", origin).split(":")
    return tuple(path.rstrip("/") for path in paths if path[:1] == "/" and "$" not in path)


def _read_cache() -> dict[str, list[str]]:
    try:
        with open(CACHE, "rb") as file:
            data = file.read()
        return _parse_cache(data[data.index(_CACHE_MAGIC) :])
    except (OSError, ValueError, TypeError, IndexError):
        return {}


def _parse_cache(data: bytes) -> dict[str, list[str]]:
    count = memoryview(data)[:_CACHE_HEADER].cast("I")[5]
    entries = memoryview(data)[_CACHE_HEADER : _CACHE_HEADER + count * _CACHE_ENTRY].cast("I")
    paths: dict[str, list[str]] = {}
    for at in range(0, len(entries), 6):
        name, path = (
            os.fsdecode(data[start : data.index(b"\0", start)])
            for start in (entries[at + 1], entries[at + 2])
        )
        paths.setdefault(name, []).append(path)
    return paths
