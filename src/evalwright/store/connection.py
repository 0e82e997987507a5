"""One connection to a SQLite file, for any thread, one at a time.

The file is in WAL mode: readers never wait for a writer, in this process or another, and a
writer waits for another writer up to `wait_s`. A commit is safe from the death of the process;
with `durable`, from that of the machine.

Does not:  work on a file that several machines share over a network: WAL needs one memory.

    runs       one row per run
    names      tasks, models, groups and scorers: each written once, and never removed, so that a
               process may remember their numbers
    outcomes   one row per job: the scalars, so that reports and lists read nothing else
    bodies     the rest of an outcome, apart: what a report reads is a tenth of the file
    scores     one row per score: its first value, and the hash of its key
    keys       the hashes of keys, sorted, and whose they are; only up to the outcome in `folded`

Keys are random, so to sort in each as it comes would write a page of the file for each: a million
outcomes cost 51 µs each that way. Folded in by the ten thousand, in order, they cost 22, the last
ones no more than the first. Of a key, 64 bits are kept; the body has all of it, and is compared.

`user_version` is the version; `application_id` says that the file is ours. A migration is a
function in `MIGRATIONS`; the ones that are missing run in one transaction, so a store is never
between two versions.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from evalwright.errors import EvalwrightError, StoreError, Unreadable
from evalwright.lines import shown

_SPACE = "free some space and run again: what was finished is kept, only the rest is run"
_PRIMARY = 0xFF  # the low byte of an extended result code


def explain_error(error: sqlite3.Error, path: Path) -> EvalwrightError:
    """What a person should be told of it."""
    where = shown(str(path))
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    match code:
        case sqlite3.SQLITE_FULL:
            return StoreError(f"{where}: the disk is full", hint=_SPACE)
        case sqlite3.SQLITE_IOERR:  # a quota or a limit on the size of files ends up here, too
            return StoreError(
                f"{where}: the disk could not be read or written ({error.sqlite_errorname})",
                hint=f"full, over quota, or failing? {_SPACE}",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                f"{where}: another process keeps the store locked",
                hint="run again when it has ended, or with another `--store`",
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
        return "may be read, but not written"
    if not os.access(path.parent, os.W_OK | os.X_OK, effective_ids=True):
        return "its folder may not be written to, and must be"
    return "cannot be opened"


Migration = Callable[[sqlite3.Connection], None]

APPLICATION_ID = 0x45574C54  # "EWLT"

_VERSION_1 = (
    """CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, while a deleted run leaves
        id TEXT NOT NULL UNIQUE,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        status TEXT NOT NULL,
        plan_key TEXT NOT NULL,
        parent TEXT,
        manifest BLOB NOT NULL
    )""",
    """CREATE TABLE names (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
    )""",
    """CREATE TABLE outcomes (
        number INTEGER PRIMARY KEY, -- the larger, the newer
        run INTEGER NOT NULL,
        task INTEGER NOT NULL,
        model INTEGER NOT NULL,
        sample_id TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        trial INTEGER NOT NULL,
        "group" INTEGER NOT NULL,
        failure_stage TEXT,
        failure_type TEXT,
        score REAL,
        correct INTEGER,
        confidence REAL,
        nll REAL,
        nll_tokens INTEGER NOT NULL,
        finish TEXT NOT NULL,
        requests INTEGER NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL,
        cost REAL,
        latency_s REAL NOT NULL,
        solve_hash INTEGER -- of its solve key; NULL where no other run may take the trace
    )""",
    "CREATE UNIQUE INDEX outcomes_by_job ON outcomes (run, task, ordinal, trial, model)",
    """CREATE INDEX outcomes_failed ON outcomes (run, task, ordinal, trial, model)
        WHERE failure_stage IS NOT NULL""",
    "CREATE TABLE bodies (outcome INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    """CREATE TABLE scores (
        outcome INTEGER NOT NULL,
        scorer INTEGER NOT NULL,
        value REAL,
        correct INTEGER,
        key_hash INTEGER,
        PRIMARY KEY (outcome, scorer)
    ) WITHOUT ROWID""",
    """CREATE TABLE keys (
        hash INTEGER NOT NULL,
        outcome INTEGER NOT NULL,
        PRIMARY KEY (hash, outcome)
    ) WITHOUT ROWID""",
    "CREATE TABLE folded (outcome INTEGER NOT NULL)",  # the last one that is in `keys`
    "INSERT INTO folded VALUES (0)",
    # Fires on REPLACE, too, on a connection with `recursive_triggers`.
    """CREATE TRIGGER outcomes_gone AFTER DELETE ON outcomes BEGIN
        DELETE FROM bodies WHERE outcome = OLD.number;
        DELETE FROM scores WHERE outcome = OLD.number;
    END""",
)


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in _VERSION_1:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


MIGRATIONS: tuple[Migration, ...] = (_create_tables,)
"""The function at N makes version N + 1 of version N. Add; never change one that was released."""


def check_version(connection: sqlite3.Connection, path: Path, known: int = len(MIGRATIONS)) -> int:
    """The version of a store that this evalwright can use, after nothing was written to it."""
    # In this order: another process may make the store meanwhile, and writes all three at once.
    has_tables = _read_pragma(connection, "schema_version")
    version = _read_pragma(connection, "user_version")
    is_ours = _read_pragma(connection, "application_id") == APPLICATION_ID
    if not is_ours and (has_tables or version):
        raise Unreadable(f"{shown(str(path))}: a database, but not a store of evalwright")
    if version > known:
        raise StoreError(
            f"{shown(str(path))}: written by a newer evalwright (store version {version}, "
            f"this one knows {known})",
            hint="upgrade evalwright, or use another `--store`",
        )
    return version


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring a store to the newest version, all the way or not at all."""
    if check_version(connection, path, len(migrations)) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = check_version(
            connection, path, len(migrations)
        )  # another process may have been first
        for migration in migrations[version:]:
            migration(connection)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
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

    def __init__(self, path: Path, *, wait_s: float, durable: bool = False) -> None:
        self._path = path
        self._lock = Lock()
        with _explain_errors(path):
            # Statements begin and end transactions themselves; threads are kept apart by the lock.
            self._sqlite = sqlite3.connect(
                path, timeout=wait_s, isolation_level=None, check_same_thread=False
            )
        ready = False
        try:
            with _explain_errors(path):
                _prepare_file(self._sqlite, path, wait_s=wait_s)
                _set_pragmas(self._sqlite, durable=durable)
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
            raise explain_error(error, self._path) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write: all of it is there afterwards, or nothing."""
        with self._lock, _explain_errors(self._path):
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
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise explain_error(error, path) from error


def _prepare_file(connection: sqlite3.Connection, path: Path, *, wait_s: float) -> None:
    """Make it a store. To leave another mode for WAL, SQLite does not wait for others: we do."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            check_version(connection, path)  # before anything is written to a file that is not ours
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            migrate(connection, path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
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
