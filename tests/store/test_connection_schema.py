import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from evalwright.errors import StoreError, Unreadable
from evalwright.store.bodies import pack
from evalwright.store.connection import (
    Access,
    Migration,
    Schema,
    check_version,
    create_database,
    migrate,
)
from evalwright.store.sqlite import SqliteStore
from evalwright.store.tables import STORE_SCHEMA
from evalwright.types import Row, Run

NEWEST = len(STORE_SCHEMA.migrations)
OLD = Run(id="old", created="then", updated="then", status="finished", plan_key="plan")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path)) as made:
        yield made


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=30)


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def tables(connection: sqlite3.Connection) -> set[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name for (name,) in found if not name.startswith("sqlite_")}


def a_store(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.begin(OLD)


def extended(*migrations: Migration) -> Schema:
    return structs.replace(STORE_SCHEMA, migrations=(*STORE_SCHEMA.migrations, *migrations))


def adding(table: str) -> Migration:
    def add(connection: sqlite3.Connection) -> None:
        connection.execute(f"CREATE TABLE {table} (x)")

    return add


def breaking(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE runs ADD COLUMN half TEXT")
    connection.execute("DELETE FROM runs")
    raise ValueError("a migration with a mistake")


def test_a_new_file_becomes_a_store_of_this_version(
    path: Path, connection: sqlite3.Connection
) -> None:
    migrate(connection, path, STORE_SCHEMA)

    assert version(connection) == len(STORE_SCHEMA.migrations)
    assert tables(connection) == {
        "runs",
        "names",
        "outcomes",
        "bodies",
        "scores",
        "keys",
        "folded",
        "owners",
        "claims",
    }
    assert connection.execute("PRAGMA application_id").fetchone() == (STORE_SCHEMA.application_id,)


def test_the_scalars_of_an_outcome_are_columns_in_the_order_of_a_row(
    path: Path, connection: sqlite3.Connection
) -> None:
    migrate(connection, path, STORE_SCHEMA)

    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(outcomes)")]
    assert columns == ["number", "run", *Row.__struct_fields__, "solve_hash"]


def test_what_version_1_is_never_changes(connection: sqlite3.Connection) -> None:
    STORE_SCHEMA.migrations[0](connection)

    made = {
        table: [column for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")]
        for table in ("runs", "names", "bodies", "scores", "keys", "folded")
    }
    assert made == {
        "runs": ["number", "id", "created", "updated", "status", "plan_key", "parent", "manifest"],
        "names": ["number", "name"],
        "bodies": ["outcome", "body"],
        "scores": ["outcome", "scorer", "value", "correct", "key_hash"],
        "keys": ["hash", "outcome"],
        "folded": ["outcome"],
    }


def test_a_store_of_this_version_is_left_alone(path: Path) -> None:
    a_store(path)
    before = path.read_bytes()

    with closing(connect(path)) as connection:
        migrate(
            connection, path, Schema("store", STORE_SCHEMA.application_id, (breaking,) * NEWEST)
        )

    assert path.read_bytes() == before


def test_an_older_store_is_brought_up_once_and_keeps_what_it_has(path: Path) -> None:
    a_store(path)
    ran: list[int] = []

    def to_2(connection: sqlite3.Connection) -> None:
        ran.append(version(connection))
        connection.execute("ALTER TABLE runs ADD COLUMN note TEXT")

    for _ in range(2):
        with closing(connect(path)) as connection:
            migrate(connection, path, extended(to_2))

    assert ran == [NEWEST]
    with closing(connect(path)) as connection:
        assert version(connection) == NEWEST + 1
        assert connection.execute("SELECT id, note FROM runs").fetchall() == [("old", None)]


def test_versions_are_made_one_after_the_other(path: Path) -> None:
    a_store(path)

    with closing(connect(path)) as connection:
        migrate(connection, path, extended(adding("two"), adding("three"), adding("four")))

        assert version(connection) == NEWEST + 3
        assert tables(connection) >= {"two", "three", "four"}


def test_a_migration_that_fails_leaves_the_old_version_whole(path: Path) -> None:
    a_store(path)

    with closing(connect(path)) as connection:
        with pytest.raises(ValueError, match="a mistake"):
            migrate(connection, path, extended(adding("two"), breaking))

        assert not connection.in_transaction
        assert version(connection) == NEWEST
        assert "two" not in tables(connection)
    with closing(SqliteStore(path)) as store:
        assert store.runs() == [OLD]


def test_a_store_that_fails_to_be_made_can_be_made_later(path: Path) -> None:
    with pytest.raises(ValueError, match="a mistake"):
        create_database(path, extended(breaking), Access(wait_s=1))
    assert list(path.parent.iterdir()) == []

    a_store(path)

    with closing(SqliteStore(path)) as store:
        assert store.runs() == [OLD]


def test_of_two_that_migrate_at_once_one_does(path: Path) -> None:
    a_store(path)
    ran: list[str] = []
    both = threading.Barrier(2)

    def to_2(connection: sqlite3.Connection) -> None:
        ran.append(threading.current_thread().name)
        connection.execute("ALTER TABLE runs ADD COLUMN note TEXT")

    def migrating() -> None:
        with closing(connect(path)) as connection:
            both.wait()
            migrate(connection, path, extended(to_2))

    threads = [threading.Thread(target=migrating) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(ran) == 1


def test_a_store_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    a_store(path)
    with closing(connect(path)) as connection:
        migrate(connection, path, extended(adding("two")))
        connection.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()

    with pytest.raises(StoreError) as caught:
        SqliteStore(path)

    assert caught.value.message == (
        f"{path}: written by a newer evalwright (store version {NEWEST + 1}, this one knows "
        f"{NEWEST})"
    )
    assert "upgrade" in caught.value.hint
    assert caught.value.exit_code == 4
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("CREATE TABLE songs (title)", id="tables of another program"),
        pytest.param("PRAGMA user_version = 7", id="a version of another program"),
    ],
)
def test_a_database_of_another_program_is_refused_and_left_alone(
    path: Path, statement: str
) -> None:
    with closing(connect(path)) as connection:
        connection.execute(statement)
    before = path.read_bytes()

    with pytest.raises(Unreadable, match="a database, but not an evalwright store"):
        SqliteStore(path)

    assert path.read_bytes() == before


@pytest.mark.parametrize("moment", ["schema_version", "user_version", "application_id"])
def test_a_store_that_another_makes_meanwhile_is_not_taken_for_foreign(
    path: Path, connection: sqlite3.Connection, moment: str
) -> None:
    def meanwhile(statement: str) -> None:
        if moment in statement:
            connection.set_trace_callback(None)
            with closing(connect(path)) as other:
                migrate(other, path, STORE_SCHEMA)
                other.execute(
                    "INSERT INTO runs VALUES"
                    " (1, 'old', 'then', 'then', 'finished', 'plan', NULL, ?)",
                    (pack({}),),
                )

    connection.set_trace_callback(meanwhile)

    assert check_version(connection, path, STORE_SCHEMA) in {0, NEWEST}
    migrate(connection, path, STORE_SCHEMA)
    with closing(SqliteStore(path)) as store:
        assert store.runs() == [OLD]


def test_checking_says_the_version(path: Path, connection: sqlite3.Connection) -> None:
    assert check_version(connection, path, STORE_SCHEMA) == 0

    migrate(connection, path, STORE_SCHEMA)

    assert check_version(connection, path, STORE_SCHEMA) == NEWEST
