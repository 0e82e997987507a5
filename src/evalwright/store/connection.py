"""One connection to a SQLite file, for any thread, one at a time.

The file is in WAL mode: readers never wait for a writer, in this process or another, and a
writer waits for another writer up to `wait_s`. A commit is safe from the death of the process;
with `durable`, from that of the machine.

Does not:  work on a file that several machines share over a network: WAL needs one memory.

`user_version` is the version; `application_id` says that the file is ours. The missing migrations
run in one transaction, so a file is never between two versions.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec import Struct

from evalwright.errors import EvalwrightError, StoreError, Unreadable
from evalwright.lines import show_path

_SPACE = "free some space and run again: finished samples are kept, only the rest is run"


def result_code(error: BaseException | None) -> int:
    """The primary result code of an error of SQLite: the low byte of the extended one."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def explain_error(error: sqlite3.Error, path: Path) -> EvalwrightError:
    """Say what happened to the file, and what to do about it."""
    where = show_path(path)
    match result_code(error):
        case sqlite3.SQLITE_FULL:
            return StoreError(f"{where}: the disk is full", hint=_SPACE)
        case sqlite3.SQLITE_IOERR:  # a quota or a limit on the size of files ends up here, too
            return StoreError(
                f"{where}: the disk could not be read or written ({error.sqlite_errorname})",
                hint=f"full, over quota, or failing? {_SPACE}",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                f"{where}: locked by another process",
                hint="run again when it has finished, or use another `--store`",
            )
        case sqlite3.SQLITE_CORRUPT:
            return StoreError(
                f"{where}: the database is damaged ({error})",
                hint=f"`sqlite3 {path.name} .recover` saves what can be saved; "
                "move the file away to start a new one",
            )
        case sqlite3.SQLITE_NOTADB:
            return Unreadable(f"{where}: not a database", hint="is `--store` what you meant?")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return Unreadable(f"{where}: {_permission_problem(path)}")
    return StoreError(f"{where}: {str(error).rstrip('.')}")


def _permission_problem(path: Path) -> str:
    """SQLite does not say why. To open the file and see would drop the locks of this process."""
    if path.is_dir():
        return "a directory, not a file"
    if not path.exists():
        return "cannot be created: permission denied"
    if not os.access(path, os.R_OK, effective_ids=True):
        return "permission denied"
    if not os.access(path, os.W_OK, effective_ids=True):
        return "can be read, but not written"
    if not os.access(path.parent, os.W_OK | os.X_OK, effective_ids=True):
        return "its folder is not writable"
    return "cannot be opened"


Migration = Callable[[sqlite3.Connection], None]


class Schema(Struct, frozen=True):
    """What makes a SQLite file ours."""

    noun: str
    """`store` or `cache`, for errors."""
    application_id: int
    migrations: tuple[Migration, ...]
    """The function at N makes version N + 1 of version N. Add; never change a released one."""


def check_version(connection: sqlite3.Connection, path: Path, schema: Schema) -> int:
    """The version of the file, if this evalwright can use it. Writes nothing."""
    # In this order: another process may make the file meanwhile, and writes all three at once.
    has_tables = _read_pragma(connection, "schema_version")
    version = _read_pragma(connection, "user_version")
    is_ours = _read_pragma(connection, "application_id") == schema.application_id
    if not is_ours and (has_tables or version):
        raise Unreadable(f"{show_path(path)}: a database, but not a {schema.noun} of evalwright")
    newest = len(schema.migrations)
    if version > newest:
        raise StoreError(
            f"{show_path(path)}: written by a newer evalwright ({schema.noun} version {version}, "
            f"this one knows {newest})",
            hint="upgrade evalwright, or use another `--store`",
        )
    return version


def migrate(connection: sqlite3.Connection, path: Path, schema: Schema) -> None:
    """Bring a file to the newest version, all the way or not at all."""
    newest = len(schema.migrations)
    if check_version(connection, path, schema) == newest:
        return
    with _transaction(connection):
        version = check_version(connection, path, schema)  # another process may have been first
        for migration in schema.migrations[version:]:
            migration(connection)
        connection.execute(f"PRAGMA application_id = {schema.application_id}")
        connection.execute(f"PRAGMA user_version = {newest}")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _read_pragma(connection: sqlite3.Connection, name: str) -> int:
    ((value,),) = connection.execute(f"PRAGMA {name}").fetchall()
    return int(value)


_RETRY_S = 0.01
_CHECKPOINT_PAGES = 4000
_WAL_BYTES = 64 << 20  # what a WAL that grew is cut back to
_CACHE_KIB = 2 << 10


class SqliteConnection:
    """A connection whose errors are ours."""

    def __init__(self, path: Path, schema: Schema, *, wait_s: float, durable: bool = False) -> None:
        self._path = path
        self._lock = Lock()
        _refuse_special_file(path)
        with _explain_errors(path), ExitStack() as cleanup:
            # Statements begin and end transactions themselves; threads are kept apart by the lock.
            self._sqlite = sqlite3.connect(
                path, timeout=wait_s, isolation_level=None, check_same_thread=False
            )
            cleanup.callback(self._sqlite.close)
            _prepare_file(self._sqlite, path, schema, wait_s=wait_s)
            _set_pragmas(self._sqlite, durable=durable)
            cleanup.pop_all()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows at once, so that no cursor stays open and holds on to an old state."""
        try:
            with self._lock:
                return self._sqlite.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise explain_error(error, self._path) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write: all of it is there afterwards, or nothing."""
        with self._lock, _explain_errors(self._path), _transaction(self._sqlite):
            yield self._sqlite

    def close(self) -> None:
        """The last connection of all processes folds the WAL into the file."""
        with self._lock:
            self._sqlite.close()


def _refuse_special_file(path: Path) -> None:
    """Raise `Unreadable` for a device or a pipe: SQLite would write a journal beside it."""
    try:
        mode = path.stat().st_mode
    except OSError:  # SQLite says why
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device"
        hint = "is `--store` what you meant? `memory:` is a store that is not kept"
        raise Unreadable(f"{show_path(path)}: {kind}, not a file", hint=hint)


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise explain_error(error, path) from error


def _prepare_file(
    connection: sqlite3.Connection, path: Path, schema: Schema, *, wait_s: float
) -> None:
    """Create or migrate it. To leave another mode for WAL, SQLite does not wait for others."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            check_version(connection, path, schema)  # before a file that is not ours is written to
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            migrate(connection, path, schema)
        except sqlite3.OperationalError as error:
            if result_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _set_pragmas(connection: sqlite3.Connection, *, durable: bool) -> None:
    for pragma in (
        f"synchronous = {'FULL' if durable else 'NORMAL'}",
        "recursive_triggers = ON",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        f"journal_size_limit = {_WAL_BYTES}",
        f"cache_size = -{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
