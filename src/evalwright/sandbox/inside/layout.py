"""What of the host a jail must show, so that all of the standard library can be imported in it.

`survey` runs in the interpreter that candidates will use, before it is jailed. It was started with
`-S -s -P` and an empty environment: its `sys.path` has its own library and the entry that this
package was imported from, which is not shown. The layout serves two kinds of jail:

    one that builds a root      makes `links`, mounts `directories` and `files`, covers `hidden`, in
                                the order of their paths: a package may lie in a hidden directory
    one that only forbids       allows to read `open_directories` and `open_files`, and to list
                                (not to read) `listable`

Holds:      the library, its extension modules and every shared object that they need, the dynamic
            loader, the time zones, the packages asked for. All paths are absolute, real and sorted;
            none lies in another, unless something hidden is between them.
Does not:   show site-packages, the executable, or anything of `/etc` but the loader's cache, and
            that only when a library is found in no other way.
"""

# ruff: noqa: PTH112, PTH115, PTH116, PTH118, PTH119, PTH120
# pathlib would double what the process has loaded, and each of its forks would cost more.

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

from .elf import CACHE, Libraries

_TIME_ZONES = "/usr/share/zoneinfo"
# glibc opens it by name when the first thread is cancelled.
_UNWINDER = "libgcc_s.so.1"
_NOT_THE_LIBRARY = frozenset({"site-packages", "dist-packages"})
_HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_MOST_LINKS = 40  # on one path, as in the kernel


class JailLayout(NamedTuple):
    """What to show; the module's docstring says how."""

    directories: list[str]
    files: list[str]
    hidden: list[str]
    """Directories inside `directories` that are not to be seen."""
    links: list[tuple[str, str]]
    """Place and target of the symbolic links on the way to what is shown."""
    listable: list[str]
    open_directories: list[str]
    open_files: list[str]


def survey(packages: list[str]) -> JailLayout:
    """Inspect this interpreter, and `packages`: the paths of extra packages and modules."""
    shown = _Shown()
    libraries = Libraries(_executable())
    libraries.add_name(_UNWINDER)
    for entry in sys.path:
        if _is_the_library(entry):
            shown.add(entry)
            shown.hide(entry, _NOT_THE_LIBRARY)
            _add_extensions(_entries(entry), shown, libraries)
    for package in packages:
        _add_package(package, shown, libraries)
    for path in libraries.paths:
        shown.add(path)
    if libraries.needs_cache:
        shown.add(CACHE)
    shown.add(_TIME_ZONES)
    return shown.layout()


def _executable() -> str:
    try:
        return os.readlink("/proc/self/exe")
    except OSError:
        return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def _is_the_library(entry: str) -> bool:
    return (
        entry.startswith("/")
        and os.path.basename(entry) not in _NOT_THE_LIBRARY
        and os.path.realpath(entry) != _HERE
    )


def _add_package(path: str, shown: _Shown, libraries: Libraries) -> None:
    parent, file = os.path.split(path)
    name, dot, ending = file.partition(".")
    beside = os.path.join(parent, f"{name}.libs")  # where wheels put the libraries they bring
    for directory in (path, beside):
        shown.add(directory)
        _add_extensions(_all_entries(directory), shown, libraries)
    if dot:
        libraries.add(path)
    if ending == "py":
        compiled = f"{name}.{sys.implementation.cache_tag}.pyc"
        shown.add(os.path.join(parent, "__pycache__", compiled))


def _add_extensions(entries: list[os.DirEntry[str]], shown: _Shown, libraries: Libraries) -> None:
    for entry in entries:
        if entry.name.endswith(".so") or ".so." in entry.name:
            libraries.add(entry.path)
            if entry.is_symlink():
                shown.add(entry.path)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _all_entries(directory: str) -> list[os.DirEntry[str]]:
    everything = []
    pending = [directory]
    while pending:
        entries = _entries(pending.pop())
        everything += entries
        pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return everything


class _Shown:
    """What was added, by its real path, and the links that led to it."""

    def __init__(self) -> None:
        self._directories: set[str] = set()
        self._files: set[str] = set()
        self._hidden: set[str] = set()
        self._links: dict[str, str] = {}
        self._targets: dict[str, str] = {}

    def add(self, path: str) -> None:
        """Show a file or a directory. Ignore what is not there, or is neither."""
        real, links = self._resolve(path)
        try:
            mode = os.stat(real).st_mode
        except (OSError, ValueError):
            return
        if S_ISDIR(mode):
            self._directories.add(real)
        elif S_ISREG(mode):
            self._files.add(real)
        else:
            return
        self._links.update(links)

    def hide(self, directory: str, names: frozenset[str]) -> None:
        real, _ = self._resolve(directory)
        for name in names:
            if os.path.isdir(f"{real}/{name}"):
                self._hidden.add(f"{real}/{name}")

    def layout(self) -> JailLayout:
        hidden = sorted(self._hidden)
        holders = {os.path.dirname(path) for path in hidden}
        directories = self._outermost(self._directories)
        files = self._outermost(self._files)
        listable = [path for path in directories if path in holders]
        open_directories = [path for path in directories if path not in holders]
        open_files = files.copy()
        for directory in listable:
            for entry in _entries(directory):
                if entry.is_file(follow_symlinks=False):
                    open_files.append(entry.path)
                elif entry.is_dir(follow_symlinks=False) and entry.path not in self._hidden:
                    open_directories.append(entry.path)
        return JailLayout(
            directories=directories,
            files=files,
            hidden=hidden,
            links=[(place, self._links[place]) for place in self._outermost(self._links)],
            listable=listable,
            open_directories=sorted(open_directories),
            open_files=sorted(open_files),
        )

    def _outermost(self, paths: Iterable[str]) -> list[str]:
        return sorted(path for path in paths if not self._is_seen(os.path.dirname(path)))

    def _is_seen(self, path: str) -> bool:
        while path not in self._hidden:
            if path in self._directories:
                return True
            if path == "/":
                return False
            path = os.path.dirname(path)
        return False

    def _resolve(self, path: str) -> tuple[str, dict[str, str]]:
        """The path without links, and the links that were on it, by their real places."""
        real = ""
        links: dict[str, str] = {}
        hops = 0
        pending = path.split("/")[::-1]
        while pending:
            part = pending.pop()
            if part == "..":
                real = real.rpartition("/")[0]
            elif part not in {"", "."}:
                place = f"{real}/{part}"
                target = self._read_link(place)
                if not target or hops == _MOST_LINKS:
                    real = place
                    continue
                hops += 1
                links[place] = target
                pending += target.split("/")[::-1]
                if target.startswith("/"):
                    real = ""
        return real or "/", links

    def _read_link(self, place: str) -> str:
        if place not in self._targets:
            try:
                self._targets[place] = os.readlink(place)
            except (OSError, ValueError):
                self._targets[place] = ""
        return self._targets[place]
