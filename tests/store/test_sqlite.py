"""What can happen to a file: other processes, a kill, a full disk, a wrong path."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from evalwright.errors import EvalwrightError, StoreError, UnknownName, Unreadable
from evalwright.store import sqlite, tables
from evalwright.store.sqlite import SqliteStore
from evalwright.types import Failure, Outcome, Run, Score, Trace

NOBODY = 65534
IS_ROOT = os.geteuid() == 0

# What the children of these tests share: a store, a run, outcomes that say which they are.
CHILD = """
import random, sys
from evalwright.store.sqlite import SqliteStore
from evalwright.errors import StoreError
from evalwright.types import Outcome, Run, Score, Trace

def begun(path, id):
    store = SqliteStore(path)
    store.begin(Run(id=id, created="now", updated="now", status="running", plan_key="plan"))
    return store

def outcome(ordinal, text="text " * 100):
    return Outcome(
        task="t", model="m", sample_id=str(ordinal), ordinal=ordinal, solve_key=f"{ordinal:032x}",
        trace=Trace(input=text, output="out", post_processed="out"),
        scores={"s": Score(values={"x": 1.0})},
    )

def say(*words):
    print(*words, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as made:
        yield made


def begin(store: SqliteStore, id_: str = "a") -> None:
    store.begin(Run(id=id_, created="now", updated="now", status="running", plan_key="plan"))


def outcome(ordinal: int = 0, *, size: int = 500, **fields: Any) -> Outcome:
    """One whose body cannot be made smaller than `size` bytes."""
    text = random.Random(ordinal).randbytes(size // 2).hex()
    return Outcome(
        **{
            "task": "t",
            "model": "m",
            "sample_id": str(ordinal),
            "ordinal": ordinal,
            "solve_key": f"{ordinal:032x}",
            "trace": Trace(input=text, output="out", post_processed="out"),
            "scores": {"s": Score(values={"x": 1.0})},
            **fields,
        }
    )


def ordinals(store: SqliteStore, run_id: str = "a") -> list[int]:
    return [row.ordinal for row in store.rows(run_id)]


def is_sound(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextmanager
def child(source: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A Python of our own that runs `source`; killed at the end if it still lives."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD + source, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def go(*processes: subprocess.Popen[str]) -> None:
    """Wait until each has said that it is ready; then let all of them begin."""
    for process in processes:
        assert said(process).readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


class TestAnotherProcess:
    """Two processes running against one store are fine."""

    def test_what_was_acknowledged_survives_a_kill_at_any_moment(self, path: Path) -> None:
        appending = """
store, at, dice = begun(sys.argv[1], sys.argv[2]), 0, random.Random(int(sys.argv[3]))
while True:
    size = dice.choice([1, 1, 1, 2, 5, 40])
    store.append(sys.argv[2], [outcome(ordinal) for ordinal in range(at, at + size)])
    at += size
    say(at)
"""
        dice = random.Random(9)
        for kill in range(10):
            run_id = f"run-{kill}"
            with child(appending, path, run_id, kill) as process:
                acknowledged = [int(said(process).readline())]
                time.sleep(dice.uniform(0, 0.05))
                process.send_signal(signal.SIGKILL)
                acknowledged += [int(line) for line in said(process) if line.endswith("\n")]

            with closing(SqliteStore(path)) as store:
                kept = ordinals(store, run_id)
                assert kept == list(range(len(kept))), "a batch is there or it is not"
                assert len(kept) >= acknowledged[-1]
                assert [one.ordinal for one in store.outcomes(run_id)] == kept
                assert store.trace(f"{acknowledged[-1] - 1:032x}") is not None
        assert is_sound(path)

    def test_two_append_to_their_runs_at_the_same_time(self, path: Path) -> None:
        appending = """
say("ready")
sys.stdin.readline()
store = begun(sys.argv[1], sys.argv[2])
for at in range(0, 300, 3):
    store.append(sys.argv[2], [outcome(ordinal) for ordinal in range(at, at + 3)])
store.update(sys.argv[2], status="finished")
store.close()
"""
        with child(appending, path, "one") as one, child(appending, path, "two") as two:
            go(one, two)

            assert (one.wait(), two.wait()) == (0, 0)

        with closing(SqliteStore(path)) as store:
            assert ordinals(store, "one") == ordinals(store, "two") == list(range(300))
            assert {run.status for run in store.runs()} == {"finished"}

    def test_several_may_make_the_store_at_the_same_time(self, path: Path) -> None:
        opening = """
say("ready")
sys.stdin.readline()
begun(sys.argv[1], sys.argv[2]).close()
"""
        with (
            child(opening, path, "a") as a,
            child(opening, path, "b") as b,
            child(opening, path, "c") as c,
            child(opening, path, "d") as d,
        ):
            go(a, b, c, d)

            assert [process.wait() for process in (a, b, c, d)] == [0, 0, 0, 0]

        with closing(SqliteStore(path)) as store:
            assert {run.id for run in store.runs()} == {"a", "b", "c", "d"}

    def test_a_reader_sees_what_another_process_has_just_kept(
        self, path: Path, store: SqliteStore
    ) -> None:
        appending = """
store = begun(sys.argv[1], "a")
for ordinal in range(50):
    store.append("a", [outcome(ordinal)])
    say(ordinal)
    sys.stdin.readline()
"""
        with child(appending, path) as process:
            assert process.stdin is not None
            for ordinal in range(50):
                assert said(process).readline() == f"{ordinal}\n"
                assert ordinals(store) == list(range(ordinal + 1))
                process.stdin.write("\n")
                process.stdin.flush()

    def test_its_traces_are_found_from_the_next_opening_on(
        self, path: Path, store: SqliteStore
    ) -> None:
        begin(store)
        assert store.trace(f"{0:032x}") is None
        with closing(SqliteStore(path)) as other:
            other.append("a", [outcome(0)])

        with closing(SqliteStore(path)) as reopened:
            assert reopened.trace(f"{0:032x}") == outcome(0).trace

    def test_a_run_deleted_by_another_takes_no_more_outcomes(
        self, path: Path, store: SqliteStore
    ) -> None:
        begin(store)
        store.append("a", [outcome(0)])
        with closing(SqliteStore(path)) as other:
            assert other.delete("a") == 1

        with pytest.raises(UnknownName, match="there is no run `a`"):
            store.append("a", [outcome(1)])

    def test_names_that_another_has_brought_are_known(self, path: Path, store: SqliteStore) -> None:
        begin(store)
        with closing(SqliteStore(path)) as other:
            other.append("a", [outcome(0, model="theirs", group="new")])
        store.append("a", [outcome(1, model="theirs", group="ours")])

        assert [(row.model, row.group) for row in store.rows("a")] == [
            ("theirs", "new"),
            ("theirs", "ours"),
        ]


class TestALock:
    """A locked store is waited for, and then given up with one line."""

    def test_one_that_is_not_let_go_is_an_error_and_nothing_is_lost(self, path: Path) -> None:
        with (
            closing(SqliteStore(path, wait_s=0.05)) as store,
            closing(sqlite3.connect(path, isolation_level=None)) as other,
        ):
            begin(store)
            other.execute("BEGIN IMMEDIATE")

            with pytest.raises(StoreError, match="locked by another process") as caught:
                store.append("a", [outcome(0)])

            assert caught.value.exit_code == 4
            assert caught.value.hint
            assert ordinals(store) == [], "readers do not wait for a writer"
            other.execute("ROLLBACK")
            store.append("a", [outcome(0)])
            assert ordinals(store) == [0]

    def test_one_that_is_let_go_is_waited_for(self, path: Path, store: SqliteStore) -> None:
        begin(store)
        held, done = threading.Event(), threading.Event()

        def hold() -> None:
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                held.set()
                done.wait(0.2)
                other.execute("ROLLBACK")

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        store.append("a", [outcome(0)])
        done.set()
        thread.join()

        assert ordinals(store) == [0]

    def test_one_that_is_locked_while_it_is_opened_is_an_error_too(self, path: Path) -> None:
        SqliteStore(path).close()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("PRAGMA locking_mode = EXCLUSIVE")
            other.execute("BEGIN EXCLUSIVE")

            with pytest.raises(StoreError, match="locked by another process"):
                SqliteStore(path, wait_s=0.05)


@contextmanager
def small_disk(size: str) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A disk of its own, and how to change its size."""
    where = tempfile.mkdtemp()

    def mount(options: str) -> None:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", where],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"no small disk here: {done.stderr.decode().strip()}")

    try:
        if not IS_ROOT:
            pytest.skip("only root may mount a small disk")
        mount(f"size={size}")
        try:
            yield Path(where), lambda other: mount(f"remount,size={other}")
        finally:
            subprocess.run(["umount", "--lazy", where], check=True)
    finally:
        Path(where).rmdir()


def fill(store: SqliteStore, *, most: int = 5000) -> int:
    """Append until there is no more room; returns how many were acknowledged."""
    for ordinal in range(most):
        try:
            store.append("a", [outcome(ordinal, size=4000)])
        except EvalwrightError as error:
            assert_is_full(error)
            return ordinal
    raise AssertionError("the disk never filled up")


def assert_is_full(error: EvalwrightError) -> None:
    assert isinstance(error, StoreError)
    assert error.exit_code == 4
    assert "free some space and run again" in error.hint
    assert "\n" not in f"{error.message}{error.hint}"


class TestAFullDisk:
    """One clear line, nothing lost, and the run goes on when there is room again."""

    def test_what_was_kept_stays_and_the_rest_follows_when_there_is_room(self) -> None:
        with small_disk("2m") as (disk, resize):
            path = disk / "runs.db"
            with closing(SqliteStore(path)) as store:
                begin(store)
                kept = fill(store)
                assert kept > 10
                assert ordinals(store) == list(range(kept))
                with pytest.raises(StoreError, match="full"):
                    store.append("a", [outcome(kept + at, size=4000) for at in range(1000)])
                assert ordinals(store) == list(range(kept))

                resize("50m")

                store.append("a", [outcome(kept + at, size=4000) for at in range(1000)])
                store.update("a", status="finished")
                assert ordinals(store) == list(range(kept + 1000))
            with closing(SqliteStore(path)) as store:
                assert [one.ordinal for one in store.outcomes("a")] == list(range(kept + 1000))
            assert is_sound(path)

    def test_a_process_that_ends_on_a_full_disk_leaves_a_sound_store(self) -> None:
        with small_disk("2m") as (disk, resize):
            path = disk / "runs.db"
            with closing(SqliteStore(path)) as store:
                begin(store)
                kept = fill(store)

            with closing(SqliteStore(path)) as store:
                assert ordinals(store) == list(range(kept))
            resize("50m")
            with closing(SqliteStore(path)) as store:
                store.append("a", [outcome(kept)])
                assert ordinals(store) == list(range(kept + 1))
            assert is_sound(path)

    def test_a_store_that_cannot_be_made_says_so(self) -> None:
        with small_disk("16k") as (disk, resize):
            with pytest.raises(StoreError) as caught:
                SqliteStore(disk / "runs.db")
            assert_is_full(caught.value)

            resize("10m")
            with closing(SqliteStore(disk / "runs.db")) as store:
                begin(store)

    def test_a_limit_on_the_size_of_files_is_told_alike(self, path: Path) -> None:
        filling = """
import resource
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
store, at = begun(sys.argv[1], "a"), 0
text = random.Random(1).randbytes(2000).hex()
try:
    while True:
        store.append("a", [outcome(at, text)])
        at += 1
except StoreError as error:
    say(at, error.exit_code, error.hint)
kept = store.count("a")[0]
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
store.append("a", [outcome(at, text)])
say(kept, store.count("a")[0])
"""
        with child(filling, path) as process:
            at, exit_code, *hint = said(process).readline().split()
            kept, after = said(process).readline().split()

        assert exit_code == "4"
        assert "free some space and run again" in " ".join(hint)
        assert int(at) == int(kept) == int(after) - 1 > 10
        with closing(SqliteStore(path)) as store:
            assert ordinals(store) == list(range(int(after)))
        assert is_sound(path)

    def test_a_database_that_may_not_grow_is_told_alike(
        self, path: Path, store: SqliteStore
    ) -> None:
        begin(store)
        store._writer.execute("PRAGMA max_page_count = 60")

        kept = fill(store)

        assert kept > 5
        assert ordinals(store) == list(range(kept))
        store._writer.execute("PRAGMA max_page_count = 100000")
        store.append("a", [outcome(kept)])
        assert ordinals(store) == list(range(kept + 1))
        assert is_sound(path)


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder that anybody may look into, seen by a user who may not do everything."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        if IS_ROOT:
            os.seteuid(NOBODY)
        try:
            yield Path(made)
        finally:
            if IS_ROOT:
                os.seteuid(0)


class TestAWrongPath:
    """One line that says what is wrong with it."""

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(Unreadable, match="a directory, not a file"):
            SqliteStore(tmp_path)

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"just some text, longer than a header of a database\n" * 20, id="text"),
            pytest.param(b"xy", id="two bytes"),
            pytest.param(b"SQLite format 3\0" + b"\xff" * 4080, id="a header and no more"),
        ],
    )
    def test_a_file_that_is_no_database(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)

        with pytest.raises(EvalwrightError, match=r"not a database|damaged"):
            SqliteStore(path)

        assert path.read_bytes() == content

    def test_folders_on_the_way_are_made(self, tmp_path: Path) -> None:
        with closing(SqliteStore(tmp_path / "a" / "b" / "runs.db")) as store:
            begin(store)

        assert (tmp_path / "a" / "b" / "runs.db").exists()

    def test_a_file_on_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(Unreadable, match=r"runs\.db: (file exists|not a directory)"):
            SqliteStore(tmp_path / "file" / "runs.db")

    def test_a_nul_byte(self, tmp_path: Path) -> None:
        with pytest.raises(Unreadable, match="null"):
            SqliteStore(tmp_path / "a\0b")

    def test_one_that_does_not_exist_is_not_made_if_told_so(self, path: Path) -> None:
        with pytest.raises(Unreadable, match="no such file"):
            SqliteStore(path, create=False)

        assert not path.exists()

    @pytest.mark.parametrize("name", [":memory:", "file:x?mode=memory", "a b%20c#d", "é"])
    def test_no_name_is_special(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.chdir(tmp_path)

        with closing(SqliteStore(name)) as store:
            begin(store)

        assert (tmp_path / name).is_file()

    def test_a_folder_that_may_not_be_written_to(self) -> None:
        with as_nobody() as folder:
            (folder / "closed").mkdir()
            (folder / "closed").chmod(0o555)

            with pytest.raises(Unreadable, match=r"runs\.db: cannot be created: permission denied"):
                SqliteStore(folder / "closed" / "runs.db")

    def test_a_file_that_may_not_be_read(self) -> None:
        with as_nobody() as folder:
            SqliteStore(folder / "runs.db").close()
            (folder / "runs.db").chmod(0)

            with pytest.raises(Unreadable, match=r"runs\.db: permission denied"):
                SqliteStore(folder / "runs.db")

    def test_a_folder_that_may_only_be_read(self) -> None:
        with as_nobody() as folder:
            (folder / "closed").mkdir()
            SqliteStore(folder / "closed" / "runs.db").close()
            (folder / "closed").chmod(0o555)

            with pytest.raises(Unreadable, match="its folder is not writable"):
                SqliteStore(folder / "closed" / "runs.db")

    def test_a_file_that_may_only_be_read_is_read(self) -> None:
        with as_nobody() as folder:
            with closing(SqliteStore(folder / "runs.db")) as store:
                begin(store)
                store.append("a", [outcome(0)])
            (folder / "runs.db").chmod(0o444)

            with closing(SqliteStore(folder / "runs.db")) as store:
                assert ordinals(store) == [0]
                with pytest.raises(Unreadable, match="can be read, but not written"):
                    store.append("a", [outcome(1)])

    def test_a_damaged_file_is_told(self, path: Path) -> None:
        with closing(SqliteStore(path)) as store:
            begin(store)
            store.append("a", [outcome(at) for at in range(500)])
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        path.write_bytes(content)

        with (
            closing(SqliteStore(path)) as store,
            pytest.raises(StoreError, match="damaged") as caught,
        ):
            ordinals(store)

        assert "recover" in caught.value.hint


def test_a_store_that_was_closed_says_so(path: Path) -> None:
    store = SqliteStore(path)
    store.close()

    with pytest.raises(StoreError, match="closed database"):
        store.runs()


@pytest.mark.parametrize(("durable", "synchronous"), [(False, 1), (True, 2)])
def test_durable_waits_for_the_disk(path: Path, *, durable: bool, synchronous: int) -> None:
    with closing(SqliteStore(path, durable=durable)) as store:
        assert store._writer.execute("PRAGMA synchronous") == [(synchronous,)]
        assert store._writer.execute("PRAGMA journal_mode") == [("wal",)]


def test_a_closed_store_is_one_file(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        begin(store)
        store.append("a", [outcome(0)])

    assert [file.name for file in path.parent.iterdir()] == ["runs.db"]


def test_nothing_is_kept_of_a_batch_that_breaks(store: SqliteStore) -> None:
    begin(store)
    broken = outcome(1, trial=2**70)

    with pytest.raises(OverflowError):
        store.append("a", [outcome(0, task="new"), broken])

    assert ordinals(store) == []
    store.append("a", [outcome(0, task="new")])
    assert [row.task for row in store.rows("a")] == ["new"]


def test_a_log_that_others_fold_into_the_file_is_no_reason_to_stop(
    path: Path, store: SqliteStore
) -> None:
    begin(store)
    with closing(SqliteStore(path)) as other, closing(sqlite3.connect(path)) as connection:
        for number in range(8):
            (other if number % 4 == 3 else store).append("a", [outcome(number)])
            if number % 2:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    assert store.count("a") == (8, 0)


def test_a_run_longer_than_a_piece_comes_whole_and_in_order(store: SqliteStore) -> None:
    begin(store)
    jobs = [
        (task, ordinal, model)
        for task in ("b", "a")
        for ordinal in range(450)
        for model in ("z", "y", "x", "w", "v")
    ]
    random.Random(4).shuffle(jobs)

    store.append("a", [outcome(at, size=0, task=task, model=model) for task, at, model in jobs])

    assert [(row.task, row.ordinal, row.model) for row in store.rows("a")] == sorted(jobs)
    assert [(one.task, one.ordinal, one.model) for one in store.outcomes("a")] == sorted(jobs)
    page = store.outcomes("a", offset=2248, limit=1100)
    assert [(one.task, one.ordinal, one.model) for one in page] == sorted(jobs)[2248:3348]


def test_who_reads_slowly_does_not_keep_the_wal_from_being_folded(store: SqliteStore) -> None:
    begin(store)
    store.append("a", [outcome(at) for at in range(1500)])
    rows = store.rows("a")
    next(rows)

    ((busy, *_),) = store._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    assert busy == 0
    assert len(list(rows)) == 1499


def test_what_is_appended_meanwhile_does_not_disturb_a_reader(store: SqliteStore) -> None:
    begin(store)
    store.append("a", [outcome(at) for at in range(0, 4000, 2)])
    rows = store.rows("a")
    first = next(rows)

    store.append("a", [outcome(at) for at in range(4000)])

    seen = [first.ordinal, *(row.ordinal for row in rows)]
    assert seen == sorted(set(seen))
    assert set(range(0, 4000, 2)) <= set(seen)


def test_what_was_deleted_is_given_back(path: Path, store: SqliteStore) -> None:
    begin(store)
    begin(store, "b")
    store.append("a", [outcome(at, size=2000) for at in range(1000)])
    store.append("b", [outcome(0)])
    store.delete("a")
    size = sum(file.stat().st_size for file in path.parent.glob("runs.db*"))

    given_back = store.gc()

    assert given_back > 1_000_000
    assert sum(file.stat().st_size for file in path.parent.glob("runs.db*")) <= size - given_back
    assert ordinals(store, "b") == [0]
    assert store.gc() == 0


def test_a_deletion_that_was_interrupted_is_finished_by_tidying_up(store: SqliteStore) -> None:
    begin(store)
    store.append("a", [outcome(at) for at in range(20)])
    assert store.trace(f"{0:032x}") is not None
    with store._writer.transaction() as file:  # as far as `delete` came
        file.execute("DELETE FROM runs")
    begin(store, "b")
    assert ordinals(store, "b") == []

    store.gc()

    for table in ("outcomes", "bodies", "scores", "keys"):
        assert store._reader.execute(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608


def test_replacing_leaves_nothing_behind(store: SqliteStore) -> None:
    begin(store)

    for _ in range(3):
        store.append("a", [outcome(0, score_keys={"s": "ab"}), outcome(1)])

    for table in ("outcomes", "bodies", "scores"):
        assert store._reader.execute(f"SELECT count(*) FROM {table}") == [(2,)]  # noqa: S608


def test_keys_are_found_whenever_they_are_folded_in(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_FOLDED_AT_ONCE", 20)
    dice = random.Random(5)
    store = SqliteStore(path)
    begin(store)
    jobs: dict[int, tuple[str, Trace]] = {}  # ordinal → key and trace, the newest last
    for step in range(300):
        ordinal, key = dice.randrange(60), f"{dice.randrange(40):02x}" * 16
        trace = Trace(input=str(step), output="", post_processed="")
        store.append("a", [outcome(ordinal, solve_key=key, trace=trace)])
        jobs.pop(ordinal, None)
        jobs[ordinal] = key, trace
        if dice.random() < 0.05:
            store.close()
            store = SqliteStore(path)

        asked = f"{dice.randrange(40):02x}" * 16

        under = [trace for key, trace in jobs.values() if key == asked]
        assert store.trace(asked) == (under[-1] if under else None)
    store.close()


def test_a_number_is_not_given_again_while_a_key_remembers_it(store: SqliteStore) -> None:
    begin(store)
    store.append("a", [outcome(0, solve_key="ab" * 16)])
    assert store.trace("ab" * 16) is not None
    store.delete("a")
    begin(store)

    store.append("a", [outcome(0, solve_key="cd" * 16)])

    assert store.trace("ab" * 16) is None
    assert store.trace("cd" * 16) is not None


def test_a_large_text_is_compressed(store: SqliteStore) -> None:
    begin(store)
    text = "the same words again and again, " * 30_000

    store.append("a", [outcome(0, trace=Trace(input=text, output="", post_processed=""))])

    ((size,),) = store._reader.execute("SELECT length(body) FROM bodies")
    assert size < len(text) / 100
    assert next(store.outcomes("a")).trace == Trace(input=text, output="", post_processed="")


def test_a_foreign_object_in_the_metadata_breaks_nothing(store: SqliteStore) -> None:
    import numpy as np

    metadata = {"array": np.arange(3), "number": np.float32(0.5), "path": Path("x"), "set": {1}}
    score = Score(values={"x": np.float64(0.25), "y": np.bool_(1)}, metadata=metadata)
    begin(store)

    store.append("a", [outcome(0, scores={"s": score})])

    kept = next(store.outcomes("a")).scores["s"]
    assert kept.values == {"x": 0.25, "y": 1.0}
    assert kept.metadata == {
        "array": [0, 1, 2],
        "number": 0.5,
        "path": "PosixPath('x')",
        "set": [1],
    }
    assert next(store.rows("a")).score == 0.25


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"m\xff", id="not what it says"),
        pytest.param(b"M\xff", id="not compressed"),
        pytest.param(b"j{", id="cut short"),
        pytest.param(b"?", id="of a later format"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_a_body_that_cannot_be_read_is_one_line(store: SqliteStore, body: bytes) -> None:
    begin(store)
    store.append("a", [outcome(0)])
    with store._writer.transaction() as file:
        file.execute("UPDATE bodies SET body = ?", (body,))

    with pytest.raises(StoreError, match="a stored body cannot be read"):
        next(store.outcomes("a"))


ANY = tables.Query(run=1, columns=tables.OUTCOME_COLUMNS)
FAILED = tables.Query(run=1, columns="1", wanted="AND o.failure_stage IS NOT NULL")


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        pytest.param(sqlite._UNDER, "keys USING PRIMARY KEY (hash=?)", id="a key"),
        pytest.param(sqlite._FOLD, "outcomes USING INTEGER PRIMARY KEY (rowid>?)", id="new keys"),
        pytest.param(sqlite._COUNT, "INDEX outcomes_failed", id="a count"),
        pytest.param(sqlite._SWEEP, "COVERING INDEX outcomes_by_job", id="a deletion"),
        pytest.param(
            tables._piece_query(tables.Query(run=1, columns=tables.ROW_COLUMNS)),
            "INDEX outcomes_by_job (run=? AND task=? AND (ordinal,trial)>(?,?))",
            id="rows",
        ),
        pytest.param(
            tables._piece_query(FAILED),
            "INDEX outcomes_failed (run=? AND task=? AND (ordinal,trial)>(?,?))",
            id="failures",
        ),
        pytest.param(
            tables._index_query("count(*)", ANY), "COVERING INDEX outcomes_by_job", id="an offset"
        ),
    ],
)
def test_nothing_is_found_by_looking_at_everything(
    store: SqliteStore, sql: str, index: str
) -> None:
    parameters = (None,) * sql.count("?")

    steps = [step for *_, step in store._reader.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]

    assert any(index in step for step in steps)
    assert not any(step.startswith("SCAN") for step in steps)


def test_a_failure_is_kept_with_its_words(store: SqliteStore) -> None:
    failure = Failure(stage="solver", type="timeout", message="no answer", hint="wait", attempts=4)
    begin(store)

    store.append("a", [outcome(0, trace=None, scores={}, failure=failure)])

    assert [one.failure for one in store.outcomes("a", failed=True)] == [failure]
