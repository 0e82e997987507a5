"""A store that cannot be written can be listed, shown, reported and exported, and not changed."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.e2e import in_process

from evalwright.store.sqlite import SqliteStore

NOBODY = 65534
RECORD = (
    '{"task_id": "t%d", "category": "arithmetic", "prompt": "what is %d?", "targets": ["%d"], '
    '"metric_name": "exact_match", "post_process": "none"}\n'
)
READING = (
    ("list",),
    ("show", "latest"),
    ("show", "latest", "t7"),
    ("show", "latest", "--wrong"),
    ("report", "latest"),
    ("export", "latest"),
)
WRITING = (
    ("run", "tasks.jsonl", "-m", "scripted/noisy"),
    ("score", "latest"),
    ("delete", "latest", "--yes"),
    ("gc",),
)

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may become another user, and mount"
)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "EVALWRIGHT_STORE": "runs.db"}
    return in_process.evalwright(*arguments, cwd=folder, env=environment)


@pytest.fixture(scope="module")
def whole() -> Iterator[Path]:
    """A folder with a store whose newest outcomes are only in its log."""
    with tempfile.TemporaryDirectory() as made:  # those of pytest are closed to other users
        Path(made).chmod(0o755)
        folder = Path(made) / "folder"
        folder.mkdir()
        (folder / "tasks.jsonl").write_text("".join(RECORD % (n, n, n) for n in range(20)))
        assert run(folder, "run", "tasks.jsonl", "-m", "scripted/echo").returncode == 0
        store = SqliteStore(folder / "runs.db")  # as long as this is open, nothing is folded
        assert run(folder, "run", "tasks.jsonl", "-m", "scripted/oracle").returncode == 0
        shutil.copytree(folder, Path(made) / "copy")
        store.close()
        yield Path(made) / "copy"


@pytest.fixture
def folder(whole: Path) -> Iterator[Path]:
    """A copy that any user may look into."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        shutil.copytree(whole, Path(made) / "copy")
        yield Path(made) / "copy"


@pytest.fixture(scope="module")
def expected(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str]]:
    """What the commands print of a store that can be written."""
    copied = tmp_path_factory.mktemp("writable") / "copy"
    shutil.copytree(whole, copied)
    return read_all(copied)


def read_all(folder: Path) -> list[tuple[int, str]]:
    results = [run(folder, *arguments) for arguments in READING]
    assert [result.stderr for result in results if "Traceback" in result.stderr] == []
    return [(result.returncode, result.stdout) for result in results]


@contextmanager
def as_nobody() -> Iterator[None]:
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def fold(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def make_older(path: Path) -> None:
    """Make what the version before has written: without claims."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE IF EXISTS claims")
        connection.execute("DROP TABLE IF EXISTS owners")
        connection.execute("PRAGMA user_version = 1")


READ_ONLY: dict[str, tuple[Callable[[Path], object], int, int]] = {
    "file": (fold, 0o777, 0o444),
    "folder": (fold, 0o555, 0o666),
    "folder with a log and its index": (Path.stat, 0o555, 0o444),
    "folder with a log alone": (lambda path: Path(f"{path}-shm").unlink(), 0o555, 0o444),
    "folder and file, of an older version": (make_older, 0o555, 0o444),
    "file of an older version": (make_older, 0o777, 0o444),
}


@pytest.mark.parametrize("case", READ_ONLY)
def test_a_read_only_store_can_be_read_and_is_not_changed(
    folder: Path, expected: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    prepare, folder_mode, file_mode = READ_ONLY[case]
    prepare(folder / "runs.db")
    for file in folder.iterdir():
        file.chmod(file_mode)
    folder.chmod(folder_mode)
    before = (folder / "runs.db").read_bytes()
    temporary = folder.parent / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    with as_nobody():
        found = read_all(folder)
        refused = [run(folder, *arguments) for arguments in WRITING]

    assert found == expected
    assert [(result.returncode, "runs.db: " in result.stderr) for result in refused] == [
        (2, True)
    ] * len(WRITING)
    assert [result.stderr for result in refused if "Traceback" in result.stderr] == []
    assert (folder / "runs.db").read_bytes() == before
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("is_folded", [True, False])
def test_a_store_on_a_read_only_medium_can_be_read(
    folder: Path, expected: list[tuple[int, str]], *, is_folded: bool
) -> None:
    if is_folded:
        fold(folder / "runs.db")
    else:
        (folder / "runs.db-shm").unlink()
    mounted = subprocess.run(["mount", "--bind", folder, folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)

        assert read_all(folder) == expected
        assert run(folder, "delete", "latest", "--yes").returncode == 2
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
