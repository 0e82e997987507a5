"""The tables, and how a store of an older version becomes one of this version.

    runs       one row a run
    names      tasks, models, groups and scorers: each written once, and never removed, so that a
               process may remember their numbers
    outcomes   one row a job: the scalars, so that reports and lists read nothing else
    bodies     the rest of an outcome, apart: what a report reads is a tenth of the file
    scores     one row a score: its first value, and the hash of its key
    keys       the hashes of keys, sorted, and whose they are; only up to the outcome in `folded`

Keys are random, so to sort in each as it comes would write a page of the file for each: a million
outcomes cost 51 µs each that way. Folded in by the ten thousand, in order, they cost 22, the last
ones no more than the first. Of a key, 64 bits are kept; the body has all of it, and is compared.

`user_version` is the version; `application_id` says that the file is ours. A migration is a
function in `MIGRATIONS`; the ones that are missing run in one transaction, so a store is never
between two versions.
"""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from evalwright.errors import StoreError, Unreadable
from evalwright.lines import shown

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


def _create(connection: sqlite3.Connection) -> None:
    for statement in _VERSION_1:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


MIGRATIONS: tuple[Migration, ...] = (_create,)
"""The function at N makes version N + 1 of version N. Add; never change one that was released."""


def check(connection: sqlite3.Connection, path: Path, known: int = len(MIGRATIONS)) -> int:
    """The version of a store that this evalwright can use, after nothing was written to it."""
    # In this order: another process may make the store meanwhile, and writes all three at once.
    has_tables = _pragma(connection, "schema_version")
    version = _pragma(connection, "user_version")
    is_ours = _pragma(connection, "application_id") == APPLICATION_ID
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
    if check(connection, path, len(migrations)) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = check(connection, path, len(migrations))  # another process may have been first
        for migration in migrations[version:]:
            migration(connection)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    ((value,),) = connection.execute(f"PRAGMA {name}").fetchall()
    return int(value)
