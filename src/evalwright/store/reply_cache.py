"""Answers of models, kept in a SQLite file for later runs: `.evalwright/cache.db`.

Every answer is written as it comes (40 µs: a commit in WAL mode does not wait for the disk), so a
killed process loses none. Several processes may use one file.

Holds:      a file that is not ours, or damaged, is one clear error before anything is written.
Does not:   make a run fail that could go on: an answer that cannot be written (a full disk, a
            lock that is not given up) is let go, and asked for again another day.
"""

import sqlite3
import time
from pathlib import Path

from evalwright.errors import Stopped, Unreadable

_APPLICATION_ID = 0x45574348  # "EWCH"
_VERSION = 1
_WAIT_S = 0.25
"""For another process that writes; ours need far less, and the event loop waits with us."""
_OPEN_WAIT_S = 10.0
_RETRY_S = 0.01
_PRIMARY = 0xFF  # the low byte of an extended result code
_HINT = "move it away, or delete it: a cache can be filled anew"


class SqliteReplyCache:
    """A reply_cache that outlives the process; makes its file, and the folder for it."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._sqlite = sqlite3.connect(
                self._path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
            )
        except OSError as error:
            raise Unreadable(f"{self._path.parent}: {error.strerror}") from error
        except sqlite3.Error as error:
            raise Unreadable(f"{self._path}: {error}") from error
        ready = False
        try:
            self._prepare()
            ready = True
        except sqlite3.Error as error:
            raise Unreadable(f"{self._path}: {error}, so it is no cache", hint=_HINT) from error
        finally:
            if not ready:
                self._sqlite.close()

    def get(self, key: bytes) -> bytes | None:
        """The answer under this key; None if there is none."""
        try:
            rows = self._sqlite.execute("SELECT value FROM answers WHERE key = ?", (key,))
            found = rows.fetchall()
        except sqlite3.DatabaseError as error:
            self._only_if_damaged(error)
            return None
        return bytes(found[0][0]) if found else None

    def save(self, key: bytes, value: bytes) -> None:
        """Keep an answer, in place of the one that was there."""
        try:
            self._sqlite.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, value))
        except sqlite3.DatabaseError as error:
            self._only_if_damaged(error)

    def close(self) -> None:
        """The last of all processes folds the log into the file."""
        self._sqlite.close()

    def _prepare(self) -> None:
        """Leaving another mode for WAL does not wait for others, whatever the timeout: we do."""
        deadline = time.monotonic() + _OPEN_WAIT_S
        while True:
            try:
                self._settle()
            except sqlite3.OperationalError as error:
                if not _busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_S)
            else:
                return

    def _settle(self) -> None:
        if self._is_new():  # looked at before anything is written
            self._sqlite.execute("PRAGMA journal_mode = WAL").fetchall()
            self._create()
        self._sqlite.execute("PRAGMA synchronous = NORMAL").fetchall()
        self._sqlite.execute("SELECT key, value FROM answers LIMIT 1").fetchall()

    def _is_new(self) -> bool:
        """In this order: whoever made the schema made the rest in the same transaction."""
        if not self._pragma("schema_version"):
            return True
        if self._pragma("application_id") != _APPLICATION_ID:
            raise Unreadable(f"{self._path}: a database, but not a cache of evalwright", hint=_HINT)
        if (version := self._pragma("user_version")) != _VERSION:
            raise Unreadable(
                f"{self._path}: a cache of another evalwright (version {version}, "
                f"this one writes {_VERSION})",
                hint=_HINT,
            )
        return False

    def _create(self) -> None:
        self._sqlite.execute("BEGIN IMMEDIATE")
        try:
            if self._is_new():  # another process may have been first
                self._sqlite.execute("CREATE TABLE answers (key BLOB PRIMARY KEY, value BLOB)")
                self._sqlite.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                self._sqlite.execute(f"PRAGMA user_version = {_VERSION}")
            self._sqlite.execute("COMMIT")
        finally:
            if self._sqlite.in_transaction:
                self._sqlite.execute("ROLLBACK")

    def _pragma(self, name: str) -> int:
        ((value,),) = self._sqlite.execute(f"PRAGMA {name}").fetchall()
        return int(value)

    def _only_if_damaged(self, error: sqlite3.DatabaseError) -> None:
        """A damaged file stops the run: it would go on without a cache, and nobody would know."""
        if error.sqlite_errorcode & _PRIMARY in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise Stopped(f"{self._path}: the cache is damaged: {error}", hint=_HINT) from error


def _busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & _PRIMARY in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
