"""One connection to a SQLite file, for any thread, one at a time.

The file is in WAL mode: readers never wait for a writer, in this process or another, and a
writer waits for another writer up to `wait_s`. A commit is safe from the death of the process;
with `durable`, from that of the machine.

Does not:  work on a file that several machines share over a network: WAL needs one memory. Nor
           notice a file that is overwritten in the moment of a commit, or by a later copy of
           itself.

`user_version` is the version; `application_id` says that the file is ours. The missing migrations
run in one transaction, so a file is never between two versions.

Every write first checks that the path still leads to the file that was opened: what is written to
a file that was removed is lost. `refuse_overwritten_file` checks that it has what was stored.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Literal

from msgspec import Struct, structs

from evalwright.errors import EvalwrightError, StoreError, Unreadable
from evalwright.lines import show_path
from evalwright.store.files import OpenedFiles, beside, new_name, publish, remove

_SPACE = "free some space and run again: finished samples are kept, and only the rest are run"


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
                hint="run again when it has finished, or use a different `--store`",
            )
        case sqlite3.SQLITE_CORRUPT:
            return StoreError(f"{where}: the database is damaged ({error})", hint=damage_hint(path))
        case sqlite3.SQLITE_NOTADB:
            return Unreadable(f"{where}: not a database", hint="is `--store` what you meant?")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return Unreadable(f"{where}: {_permission_problem(path)}")
    return StoreError(f"{where}: {str(error).rstrip('.')}")


def damage_hint(path: Path) -> str:
    """Say what to do about a damaged database."""
    return (
        f"`sqlite3 {path.name} .recover` saves what can be saved; move the file away to start a "
        "new one"
    )


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
        raise Unreadable(f"{show_path(path)}: a database, but not an evalwright {schema.noun}")
    newest = len(schema.migrations)
    if version > newest:
        raise StoreError(
            f"{show_path(path)}: written by a newer evalwright ({schema.noun} version {version}, "
            f"this one knows {newest})",
            hint="upgrade evalwright, or use a different `--store`",
        )
    return version


def require_tables(connection: sqlite3.Connection, path: Path, schema: Schema) -> None:
    """Refuse a file without tables. Stores are created whole, so this one has lost them."""
    if check_version(connection, path, schema) == 0:
        raise StoreError(
            f"{show_path(path)}: the database has no version: its content was lost, probably with "
            f"{path.name}-wal",
            hint=f"restore both files from a backup, or delete {path.name} to start a new store",
        )


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


class Access(Struct, frozen=True, kw_only=True):
    """How a file is opened."""

    wait_s: float
    durable: bool = False
    create: bool = True
    """Whether a file without tables gets them."""
    read: Literal["", "mode=ro", "immutable=1"] = ""
    """Parameters of SQLite to open a file that cannot be written; empty for one that can."""


class SqliteConnection:
    """A connection whose errors are ours."""

    def __init__(
        self, path: Path, schema: Schema, access: Access, *, shown: Path | None = None
    ) -> None:
        """`shown` is the path in errors, if the opened file is a copy."""
        self._path = shown or path
        self._lock = Lock()
        with explain_errors(self._path), ExitStack() as cleanup:
            # Statements begin and end transactions themselves; threads are kept apart by the lock.
            self._sqlite = sqlite3.connect(
                f"{path.absolute().as_uri()}?{access.read}" if access.read else path,
                timeout=access.wait_s,
                isolation_level=None,
                check_same_thread=False,
                uri=bool(access.read),
            )
            cleanup.callback(self._sqlite.close)
            if access.read:
                require_tables(self._sqlite, self._path, schema)
            else:
                _prepare_file(self._sqlite, path, schema, access)
                _set_pragmas(self._sqlite, durable=access.durable)
            self.expect("SELECT 1", ())
            self._files = OpenedFiles(path)
            self._data_version = _read_pragma(self._sqlite, "data_version")
            cleanup.pop_all()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows at once, so that no cursor stays open and holds on to an old state."""
        try:
            with self._lock:
                return self._sqlite.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._explain_error(error) from error

    def _explain_error(self, error: sqlite3.DatabaseError) -> EvalwrightError:
        if result_code(error) == sqlite3.SQLITE_NOTADB:  # it was one when it was opened
            return self._files.overwritten_error()
        return explain_error(error, self._path)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write: all of it is there afterwards, or nothing."""
        with self._lock:
            try:
                self._refuse_lost_file()
                with _transaction(self._sqlite):
                    yield self._sqlite
                self._files.note_state()  # a commit may fold the log into the file
            except sqlite3.DatabaseError as error:
                raise self._explain_error(error) from error

    def _refuse_lost_file(self) -> None:
        problem = self._files.find_problem()
        if problem:
            with suppress(sqlite3.DatabaseError):  # so that a file that was moved has everything
                self._sqlite.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            raise problem

    def refuse_overwritten_file(self) -> None:
        """Raise if something else than SQLite has written to the file."""
        if self._files.find_problem() is None and self._files.was_written():
            with self._lock:
                is_intact = self._is_intact()
            if not is_intact:
                raise self._files.overwritten_error()

    def _is_intact(self) -> bool:
        """Whether a new connection, which reads all pages again, finds what was stored.

        If no other process has stored anything, hardly one has folded the log into the file: then
        the whole file is checked.
        """
        version, known = _read_pragma(self._sqlite, "data_version"), self._data_version
        self._data_version = version
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(self._path)) as other:
            if not other.execute(*self._expected).fetchall():
                return False
            if version != known or other.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]:
                self._files.note_state()
                return True
        return False

    def expect(self, sql: str, parameters: Sequence[Any]) -> None:
        """Have a query that returns rows for as long as the file has what was stored."""
        self._expected = sql, parameters

    def close(self) -> None:
        """The last connection of all processes folds the WAL into the file."""
        with self._lock:
            self._sqlite.close()


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise explain_error(error, path) from error


def _prepare_file(
    connection: sqlite3.Connection, path: Path, schema: Schema, access: Access
) -> None:
    """Create or migrate it. To leave another mode for WAL, SQLite does not wait for others."""
    deadline = time.monotonic() + access.wait_s
    while True:
        try:
            check_version(connection, path, schema)  # before a file that is not ours is written to
            if not access.create:
                require_tables(connection, path, schema)
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            migrate(connection, path, schema)
        except sqlite3.OperationalError as error:
            if result_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def create_database(path: Path, schema: Schema, access: Access) -> None:
    """Create a file with its tables, all at once: no process ever sees a part of it."""
    part = new_name(path)
    try:
        with explain_errors(path):
            connection = sqlite3.connect(part, timeout=access.wait_s, isolation_level=None)
            with closing(connection):
                migrate(connection, path, schema)
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
        publish(part, path)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise Unreadable(f"{show_path(path)}: cannot be created: {problem}") from error
    finally:
        remove(part)


Opener = Callable[[Access], SqliteConnection]


def prepare_reading(
    path: Path, schema: Schema, access: Access, cleanup: ExitStack
) -> tuple[Opener, Access]:
    """Return how to open a file that cannot be written, such as one on a read-only medium.

    SQLite reads the log only with an index beside it. If the index cannot be created there, both
    files are copied to a temporary folder. Without a log, nobody is writing, and SQLite is told so.
    """
    log = beside(path, "-wal")
    if not (log.exists() and log.stat().st_size):
        access = structs.replace(access, read="immutable=1")
        return partial(SqliteConnection, path, schema), access
    opener = partial(SqliteConnection, path, schema)
    reading = structs.replace(access, read="mode=ro")
    with suppress(Unreadable):
        opener(reading).close()
        return opener, reading
    folder = Path(cleanup.enter_context(TemporaryDirectory(prefix="evalwright-")))
    copied = folder / path.name
    try:
        for source in (path, log):
            shutil.copyfile(source, folder / source.name)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise StoreError(f"{show_path(path)}: cannot be copied to {folder}: {problem}") from error
    return partial(SqliteConnection, copied, schema, shown=path), reading


def _set_pragmas(connection: sqlite3.Connection, *, durable: bool) -> None:
    for pragma in (
        f"synchronous = {'FULL' if durable else 'NORMAL'}",
        "recursive_triggers = ON",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        f"journal_size_limit = {_WAL_BYTES}",
        f"cache_size = -{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
