"""Answers of models, kept in a SQLite file for later runs: `.evalwright/cache.db`.

Every answer is written as it comes (40 µs: a commit in WAL mode does not wait for the disk), so a
killed process loses none. Several processes may use one file.

Holds:      a file that is not ours, or damaged, is one clear error before anything is written.
Does not:   make a run fail that could continue: an answer that cannot be written (a full disk, a
            lock that is not given up) is dropped, and asked for again in a later run.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalwright.errors import EvalwrightError, Stopped, Unreadable
from evalwright.store.connection import Access, Schema, SqliteConnection, result_code

_WAIT_S = 0.25
"""For another process that writes; ours need far less, and the event loop waits with us."""
_OPEN_WAIT_S = 10.0
_HINT = "move it away, or delete it: the cache is filled again"


def _create_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE answers (key BLOB PRIMARY KEY, value BLOB)")


_SCHEMA = Schema("cache", application_id=0x45574348, migrations=(_create_table,))  # "EWCH"


class SqliteReplyCache:
    """A reply cache that outlives the process; creates its file and folder."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = SqliteConnection(self._path, _SCHEMA, Access(wait_s=_OPEN_WAIT_S))
        except OSError as error:
            raise Unreadable(f"{self._path.parent}: {error.strerror}") from error
        except EvalwrightError as error:
            raise Unreadable(error.message, hint=_HINT) from error
        try:
            self._connection.execute(f"PRAGMA busy_timeout = {_WAIT_S * 1000:.0f}")
            self._connection.execute("SELECT key, value FROM answers LIMIT 1")
        except EvalwrightError as error:
            self._connection.close()
            raise Unreadable(error.message, hint=_HINT) from error

    def get(self, key: bytes) -> bytes | None:
        """The answer under this key; None if there is none."""
        rows = self._execute("SELECT value FROM answers WHERE key = ?", (key,))
        return bytes(rows[0][0]) if rows else None

    def save(self, key: bytes, value: bytes) -> None:
        """Keep an answer, in place of the one that was there."""
        self._execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, value))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _execute(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        """No rows if it fails; a damaged file stops the run, which would miss its cache unseen."""
        try:
            return self._connection.execute(sql, parameters)
        except EvalwrightError as error:
            if result_code(error.__cause__) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
                message = f"{self._path}: the cache is damaged: {error.__cause__}"
                raise Stopped(message, hint=_HINT) from error
            return []
