"""The files of a store: the database, and beside it SQLite's log (`-wal`) and its index (`-shm`).

SQLite takes an empty file, and one whose log is missing, for a new database. A store is therefore
created whole, under another name, and gets its own name at the end: an empty file is never a new
store, and a store without tables has lost them.

Does not:  notice a log that was lost together with its index: the store is then as it was when the
           log was last folded into it.
"""

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from evalwright.errors import StoreError, Unreadable
from evalwright.lines import show_path

_RETRY_S = 0.01
_CLOSING_S = 1.0
"""Longer than another process needs to remove the log and its index, one after the other."""


def beside(path: Path, ending: str) -> Path:
    """Return the path of the log (`-wal`) or its index (`-shm`)."""
    return path.with_name(f"{path.name}{ending}")


class OpenedFiles:
    """Which files a connection has opened; finds out whether they are still at their paths."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wal = f"{path}-wal"
        self._opened = _identify(path)
        self._opened_wal: tuple[int, int] | None = None
        self._state: tuple[int, int] = (0, 0)
        self._found = self._state
        self.note_state()

    def note_state(self) -> None:
        """Remember the size and the time of the database, after SQLite has written to it."""
        with suppress(OSError):
            self._state = self._found = _describe(os.stat(self._path))  # noqa: PTH116 - as below

    def was_written(self) -> bool:
        """Whether `find_problem` has found the database written since `note_state`."""
        return self._found != self._state

    def overwritten_error(self) -> StoreError:
        """Return an error for a database with another content."""
        return StoreError(
            f"{show_path(self._path)}: the store was overwritten while it was in use, "
            "or its run was deleted",
            hint=f"restore it from a backup, and delete {self._path.name}-wal before",
        )

    def find_problem(self) -> StoreError | None:
        """Return an error if the database or its log was removed or replaced."""
        where = show_path(self._path)
        try:
            found = os.stat(self._path)  # noqa: PTH116 - a third of the time, and it is per commit
        except OSError:
            return StoreError(
                f"{where}: the store was removed while it was in use",
                hint="put it back, or run again to start a new one: what was stored is in the "
                "file that was removed",
            )
        self._found = _describe(found)
        if (found.st_dev, found.st_ino) != self._opened:
            return StoreError(
                f"{where}: the store was replaced by another file while it was in use",
                hint="run again to continue in the new file, or use another `--store`: what was "
                "stored is in the file that was replaced",
            )
        if not found.st_size:
            return StoreError(
                f"{where}: the store was emptied while it was in use",
                hint="restore it from a backup, or delete it to start a new one",
            )
        return self._find_log_problem(where)

    def _find_log_problem(self, where: str) -> StoreError | None:
        current = _identify(self._wal)
        if self._opened_wal is None:  # SQLite creates it with the first transaction
            self._opened_wal = current
        elif current != self._opened_wal:
            return StoreError(
                f"{where}-wal: a part of the store was removed or replaced while it was in use",
                hint="run again: what was stored before is now in the store itself",
            )
        return None


def _describe(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _identify(path: Path | str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a third of the time
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_files(path: Path) -> bool:
    """Whether the store exists. Refuses what is no store, or not all of one; opens nothing."""
    where = show_path(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        _refuse_log_alone(path)
        return False
    except OSError as error:
        raise Unreadable(f"{where}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:  # a NUL byte
        raise Unreadable(f"{where}: {error}") from error
    if stat.S_ISDIR(found.st_mode):
        raise Unreadable(f"{where}: a directory, not a file")
    if not stat.S_ISREG(found.st_mode):
        kind = "a pipe" if stat.S_ISFIFO(found.st_mode) else "a device"
        raise Unreadable(
            f"{where}: {kind}, not a file",
            hint="`--store memory:` is a store that is not kept",
        )
    if not found.st_size:
        raise StoreError(
            f"{where}: the file is empty, so it is not a store",
            hint="restore it from a backup, or delete it to start a new one",
        )
    _refuse_lost_log(path)
    return True


def _refuse_log_alone(path: Path) -> None:
    log = beside(path, "-wal")
    if not log.exists() or path.exists():  # created, or closed, in this moment
        return
    raise StoreError(
        f"{show_path(path)}: the store is missing, but a part of it exists: {log.name}",
        hint=f"put the store back beside it, or delete {log.name} to start a new store",
    )


def _refuse_lost_log(path: Path) -> None:
    """Refuse an index without its log. While the last process closes, that is so for a moment."""
    log, index = beside(path, "-wal"), beside(path, "-shm")
    deadline = time.monotonic() + _CLOSING_S
    while index.exists() and not log.exists():
        if time.monotonic() > deadline:
            raise StoreError(
                f"{show_path(log)}: a part of the store is missing, with its newest outcomes",
                hint=f"put it back, or delete {index.name} to continue with what {path.name} has",
            )
        time.sleep(_RETRY_S)


def new_name(path: Path) -> Path:
    """Return a path beside this one for a file that is not complete yet."""
    return path.with_name(f".{path.name}.{token_hex(4)}")


def publish(complete: Path, path: Path) -> None:
    """Give a complete file its name, unless another process has created one in the meantime."""
    try:
        os.link(complete, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            complete.replace(path)


def remove(path: Path) -> None:
    """Remove a database that is not complete, and what SQLite has left beside it."""
    for ending in ("", "-journal", "-wal", "-shm"):
        with suppress(OSError):
            beside(path, ending).unlink(missing_ok=True)
