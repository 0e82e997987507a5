"""A store that version 1 wrote becomes one of this version, with all that it has."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.e2e import in_process

from evalwright.store.sqlite import SqliteStore
from evalwright.store.tables import STORE_SCHEMA

TASKS = "".join(
    f'{{"task_id": "t{n}", "category": "arithmetic", "prompt": "what is {n + 2} + 2?", '
    f'"targets": ["{n + 4}"], "metric_name": "exact_match", "post_process": "none"}}\n'
    for n in range(3)
)
RUN = ("run", "tasks.jsonl", "-m", "scripted/oracle", "-m", "scripted/noisy", "--json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks.jsonl").write_text(TASKS)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        connection.executescript(Path(__file__).with_name("version_1.sql").read_text())
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    return tmp_path


def read_all(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = ("runs", "names", "outcomes", "bodies", "scores")
        return {
            table: connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - no input
            for table in tables
        }


def test_opening_it_adds_tables_and_changes_nothing(folder: Path) -> None:
    before = read_all(folder / "runs.db")
    assert len(before["outcomes"]) == 6

    SqliteStore(folder / "runs.db").close()

    assert read_all(folder / "runs.db") == before
    with closing(sqlite3.connect(folder / "runs.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (
            len(STORE_SCHEMA.migrations),
        )
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_its_run_is_reported_and_resumed(folder: Path) -> None:
    environment = {**os.environ, "EVALWRIGHT_STORE": "runs.db"}

    reported = in_process.evalwright("report", "latest", cwd=folder, env=environment)
    resumed = in_process.evalwright(*RUN, cwd=folder, env=environment)

    assert "6 of 6 samples completed" in reported.stderr + reported.stdout
    assert "resuming: 6 of 6 samples are done" in resumed.stderr
    with closing(SqliteStore(folder / "runs.db")) as store:
        (run,) = store.runs()
        assert run.status == "finished"
