"""A damaged or lost store: every command says which file it is, and none crashes."""

import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp.web import StreamResponse
from tests.e2e import in_process
from tests.servers.model_server import Asked, ModelServer, chat

from evalwright.errors import StoreError
from evalwright.store import files
from evalwright.store.sqlite import SqliteStore

TASKS = "".join(
    f'{{"task_id": "t{n}", "category": "arithmetic", "prompt": "what is {n}?", "targets": ["{n}"], '
    '"metric_name": "exact_match", "post_process": "none"}\n'
    for n in range(60)
)
COMMANDS = {
    "list": ["list"],
    "show": ["show", "latest"],
    "show a sample": ["show", "latest", "t7"],
    "show wrong": ["show", "latest", "--wrong"],
    "report": ["report", "latest"],
    "export": ["export", "latest"],
    "run": ["run", "tasks.jsonl", "-m", "scripted/echo"],
    "run again": ["run", "tasks.jsonl", "-m", "scripted/oracle"],
    "score": ["score", "latest"],
    "gc": ["gc"],
    "delete": ["delete", "latest", "--yes"],
    "doctor": ["doctor"],
}
PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store whose newest outcomes are only in its log."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "tasks.jsonl").write_text(TASKS)
    assert run(folder, "run").returncode == 0
    store = SqliteStore(folder / "runs.db")  # as long as this is open, nothing is folded
    assert run(folder, "run again").returncode == 0
    copied = tmp_path_factory.mktemp("copied") / "folder"
    shutil.copytree(folder, copied)
    store.close()
    assert (copied / "runs.db-wal").stat().st_size > 0
    return copied


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    return in_process.evalwright(*COMMANDS[command], cwd=folder, env=environment())


def environment() -> dict[str, str]:
    return {**os.environ, "EVALWRIGHT_STORE": "runs.db"}


def overwrite(path: Path, start: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(content)


def change(sql: str) -> Callable[[Path], None]:
    def change_store(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(sql)

    return change_store


def cut(size: int, ending: str = "") -> Callable[[Path], None]:
    return lambda path: os.truncate(f"{path}{ending}", size)


def without_log(path: Path) -> None:
    """Leave only what was folded into the store before."""
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def scramble(seed: int) -> Callable[[Path], None]:
    """Fill some pages with noise, but not the first."""

    def change_store(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        dice = random.Random(seed)
        pages = path.stat().st_size // PAGE
        for page in dice.sample(range(1, pages), pages // 4):
            overwrite(path, page * PAGE + dice.randrange(200), dice.randbytes(1000))

    return change_store


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def empty_in_place(path: Path) -> None:
    without_log(path)
    os.truncate(path, 0)


def cut_alone(path: Path) -> None:
    without_log(path)
    os.truncate(path, 5 * PAGE + 100)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": empty_in_place,
    "empty beside its log": cut(0),
    "two bytes": cut(2),
    "cut in the header": cut(60),
    "cut after the header": cut(PAGE),
    "cut in a page": cut_alone,
    "cut beside its log": cut(5 * PAGE + 100),
    "text": lambda path: overwrite(path, 0, b"some text " * 1000),
    "a header and noise": lambda path: overwrite(path, 16, b"\xff" * 4000),
    "log is cut": cut(700, "-wal"),
    "log is empty": cut(0, "-wal"),
    "log is noise": lambda path: overwrite(Path(f"{path}-wal"), 0, b"\xff" * 9000),
    "log is lost": lambda path: Path(f"{path}-wal").unlink(),
    "log and index are lost": without_log,
    "index is noise": lambda path: overwrite(Path(f"{path}-shm"), 0, b"\xff" * 9000),
    "store is lost, log is not": Path.unlink,
    "a folder": replace_by_folder,
    "a pipe": replace_by_pipe,
    "no outcomes": change("DROP TABLE outcomes"),
    "no runs": change("DROP TABLE runs"),
    "no names": change("DELETE FROM names"),
    "no bodies": change("DELETE FROM bodies"),
    "no folded": change("DELETE FROM folded"),
    "a column is missing": change("ALTER TABLE outcomes DROP COLUMN latency_s"),
    "bodies are noise": change("UPDATE bodies SET body = x'6dff'"),
    "bodies are text": change("UPDATE bodies SET body = 'text'"),
    "bodies are numbers": change("UPDATE bodies SET body = 7"),
    "bodies are other things": change("UPDATE bodies SET body = x'6d93010203'"),
    "manifests are noise": change("UPDATE runs SET manifest = x'6dff'"),
    "manifests are lists": change("UPDATE runs SET manifest = x'6d93010203'"),
    "manifests are empty": change("UPDATE runs SET manifest = x'6d80'"),
    "statuses are other": change("UPDATE runs SET status = 'strange'"),
    "times are other": change("UPDATE runs SET created = 'yesterday', updated = 7"),
    "ordinals are text": change("UPDATE outcomes SET ordinal = 'x' || ordinal"),
    "names are numbers": change("UPDATE names SET name = number"),
    "names are bytes": change("UPDATE names SET name = x'ff' WHERE number = 1"),
    "scores are text": change("UPDATE outcomes SET score = 'high'"),
    "costs are text": change("UPDATE outcomes SET requests = 'many'"),
    "another program": change("PRAGMA application_id = 7"),
    "a newer version": change("PRAGMA user_version = 99"),
    "version is lost": change("PRAGMA user_version = 0"),
    **{f"noise {seed}": scramble(seed) for seed in range(6)},
}


COMMON = {
    *("cut in a page", "text", "log is cut", "store is lost, log is not", "a pipe", "no outcomes"),
    *("bodies are noise", "manifests are noise", "scores are text", "noise 1"),
}
"""The other damages are checked with the slow tests."""


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(name, marks=() if name in COMMON else pytest.mark.slow, id=name)
        for name in DAMAGES
    ],
)
def test_no_command_crashes_on_a_damaged_store(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(files, "_CLOSING_S", 0.02)
    wrong = []
    for number, command in enumerate(name for name in COMMANDS if name != "doctor"):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        DAMAGES[damage](folder / "runs.db")

        result = run(folder, command)

        if "Traceback" in result.stderr or result.returncode not in {0, 2, 3, 4}:
            wrong.append(f"{command}: exit {result.returncode}: {result.stderr[-600:]}")
        elif result.returncode in {2, 4} and not names_store(result.stderr):
            wrong.append(f"{command}: does not name the file: {result.stderr}")
    assert wrong == []


def names_store(text: str) -> bool:
    return any(name in text for name in ("runs.db", "run 2", "run `", "stored record"))


LOST: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (empty_in_place, "runs.db: the file is empty, so it is not a store"),
    "cut": (cut_alone, "runs.db: the database is damaged"),
    "no log": (DAMAGES["log is lost"], "runs.db-wal: a part of the store is missing"),
    "no store": (
        Path.unlink,
        "runs.db: the store is missing, but a part of it exists: runs.db-wal",
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_what_is_left_of_a_store_is_not_taken_for_a_new_one(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(files, "_CLOSING_S", 0.02)
    damage, message = LOST[case]
    folder = tmp_path / "copy"
    path = folder / "runs.db"
    shutil.copytree(whole, folder)
    damage(path)
    before = path.stat().st_size if path.exists() else None

    for command in ("list", "run"):
        result = run(folder, command)

        assert message in result.stderr
        assert result.returncode in {2, 4}
    assert (path.stat().st_size if path.exists() else None) == before


def test_a_store_of_which_only_the_first_page_was_folded_is_not_taken_for_a_new_one(
    tmp_path: Path,
) -> None:
    """Stores of earlier versions were created so."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")

    with pytest.raises(StoreError, match=r"its content was lost, probably with runs\.db-wal"):
        SqliteStore(path)


def test_a_store_that_lost_its_log_and_index_has_what_was_folded(
    whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    without_log(folder / "runs.db")

    result = run(folder, "list")

    assert result.returncode == 0
    assert "scripted/echo" in result.stdout


@pytest.mark.parametrize("damage", ["noise 1", "log is lost"])
def test_doctor_names_a_damaged_store(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(files, "_CLOSING_S", 0.02)
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    DAMAGES[damage](folder / "runs.db")

    result = run(folder, "doctor")

    assert result.returncode == 0
    assert f"store       {folder}/runs.db, cannot be used: {folder}/runs.db" in result.stdout


def test_doctor_has_nothing_to_say_of_a_sound_store(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")

    assert f"{tmp_path}/copy/runs.db, exists\n" in run(tmp_path / "copy", "doctor").stdout


def remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def replace(path: Path) -> None:
    SqliteStore(path.with_name("new.db")).close()
    path.with_name("new.db").replace(path)
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink()


def fold(path: Path) -> None:
    """Leave nothing in the log."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def overwrite_whole(path: Path, content: bytes) -> None:
    overwrite(path, 0, content)
    os.truncate(path, len(content))


def overwrite_by_other(path: Path) -> None:
    """Keep the file, and write another sound store into it."""
    other = path.with_name("new.db")
    SqliteStore(other).close()
    fold(path)
    overwrite_whole(path, other.read_bytes())


def overwrite_by_backup(path: Path) -> None:
    """Write into the file what it was when the run began."""
    fold(path)
    overwrite_whole(path, path.with_name("backup.db").read_bytes())


def move(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


GONE: dict[str, tuple[Callable[[Path], None], str]] = {
    "removed": (remove, "runs.db: the store was removed while it was in use"),
    "moved": (move, "runs.db: the store was removed while it was in use"),
    "with its folder": (remove_folder, "runs.db: the store was removed while it was in use"),
    "replaced": (replace, "runs.db: the store was replaced by another file while it was in use"),
    "overwritten": (overwrite_by_other, "runs.db: the store was overwritten while it was in use"),
    "restored": (overwrite_by_backup, "runs.db: the store was overwritten while it was in use"),
    "emptied": (lambda path: os.truncate(path, 0), "runs.db: the store was emptied while it was"),
    "log removed": (
        lambda path: Path(f"{path}-wal").unlink(),
        "runs.db-wal: a part of the store was removed or replaced while it was in use",
    ),
}


@pytest.mark.parametrize("case", GONE)
def test_a_store_that_vanishes_during_a_run_ends_it(tmp_path: Path, case: str) -> None:
    vanish, message = GONE[case]
    (tmp_path / "tasks.jsonl").write_text(TASKS)
    path = tmp_path / "state" / "runs.db"
    answered = 0
    workers = "1" if case in {"overwritten", "restored"} else "2"  # nothing is stored meanwhile

    async def answer(asked: Asked) -> StreamResponse:
        nonlocal answered
        answered += 1
        if answered == 1:
            shutil.copyfile(path, path.with_name("backup.db"))
        if answered == 10:
            vanish(path)
        return await chat("4")(asked)

    with ModelServer(answer) as server:
        result = in_process.evalwright(
            *(
                "run",
                "tasks.jsonl",
                "-m",
                "openai/x",
                "--concurrency",
                workers,
                "--store",
                str(path),
            ),
            cwd=tmp_path,
            env={**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key"},
        )

    assert result.returncode == 4
    assert f"evalwright: {path.parent}/{message}" in result.stderr
    assert "  hint: " in result.stderr
    assert "Traceback" not in result.stderr
    assert answered <= 12, "no more is paid for what cannot be stored"
    if case in {"moved", "log removed"}:  # nothing that was stored is lost
        kept = path.with_name("moved.db") if case == "moved" else path
        with closing(SqliteStore(kept)) as store:
            assert store.count(store.find("latest").id)[0] >= 8
