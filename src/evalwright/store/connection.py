"""One connection to a SQLite file, for any thread, one at a time.

The file is in WAL mode: readers never wait for a writer, in this process or another, and a
writer waits for another writer up to `wait_s`. A commit is safe from the death of the process;
with `durable`, from that of the machine.

Does not:  work on a file that several machines share over a network: WAL needs one memory.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from evalwright.store.errors import explained
from evalwright.store.schema import check, migrate

_RETRY_S = 0.01
_CHECKPOINT_PAGES = 4000
_WAL_BYTES = 64 << 20  # what a WAL that grew is cut back to
_CACHE_KIB = 2 << 10


class Connection:
    """A connection whose errors are ours."""

    def __init__(self, path: Path, *, wait_s: float, durable: bool = False) -> None:
        self._path = path
        self._lock = Lock()
        with _explained(path):
            # Statements begin and end transactions themselves; threads are kept apart by the lock.
            self._sqlite = sqlite3.connect(
                path, timeout=wait_s, isolation_level=None, check_same_thread=False
            )
        ready = False
        try:
            with _explained(path):
                _patiently(self._sqlite, path, wait_s=wait_s)
                _settle(self._sqlite, durable=durable)
            ready = True
        finally:
            if not ready:
                self._sqlite.close()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows at once, so that no cursor stays open and holds on to an old state."""
        try:
            with self._lock:
                return self._sqlite.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise explained(error, self._path) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write: all of it is there afterwards, or nothing."""
        with self._lock, _explained(self._path):
            self._sqlite.execute("BEGIN IMMEDIATE")
            try:
                yield self._sqlite
                self._sqlite.execute("COMMIT")
            finally:
                if self._sqlite.in_transaction:
                    self._sqlite.execute("ROLLBACK")

    def close(self) -> None:
        """The last connection of all processes folds the WAL into the file."""
        with self._lock:
            self._sqlite.close()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise explained(error, path) from error


def _patiently(connection: sqlite3.Connection, path: Path, *, wait_s: float) -> None:
    """Make it a store. To leave another mode for WAL, SQLite does not wait for others: we do."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            check(connection, path)  # before anything is written to a file that is not ours
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            migrate(connection, path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _settle(connection: sqlite3.Connection, *, durable: bool) -> None:
    for pragma in (
        f"synchronous = {'FULL' if durable else 'NORMAL'}",
        "recursive_triggers = ON",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        f"journal_size_limit = {_WAL_BYTES}",
        f"cache_size = -{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
