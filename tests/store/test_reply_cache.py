import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from evalwright.engine.models.cache import MemoryReplyCache
from evalwright.errors import Stopped, Unreadable
from evalwright.ports import ReplyCache
from evalwright.store.reply_cache import SqliteReplyCache


@pytest.fixture(params=["memory", "sqlite"])
def reply_cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReplyCache]:
    if request.param == "memory":
        yield MemoryReplyCache()
        return
    with closing(SqliteReplyCache(tmp_path / "cache.db")) as made:
        yield made


def test_what_was_put_is_got(reply_cache: ReplyCache) -> None:
    reply_cache.save(b"key", b"\x00 value \xff")

    assert reply_cache.get(b"key") == b"\x00 value \xff"


def test_what_was_not_put_is_nothing(reply_cache: ReplyCache) -> None:
    reply_cache.save(b"key", b"")

    assert reply_cache.get(b"key") == b""
    assert reply_cache.get(b"ke") is None


def test_the_last_put_counts(reply_cache: ReplyCache) -> None:
    reply_cache.save(b"key", b"one")
    reply_cache.save(b"key", b"other")

    assert reply_cache.get(b"key") == b"other"


def test_a_file_and_its_folder_are_made_and_outlive_the_reply_cache(tmp_path: Path) -> None:
    path = tmp_path / "a" / ".evalwright" / "cache.db"
    with closing(SqliteReplyCache(path)) as reply_cache:
        reply_cache.save(b"key", b"value")

    with closing(SqliteReplyCache(path)) as reply_cache:
        assert reply_cache.get(b"key") == b"value"


def test_a_reply_cache_may_be_used_by_another_thread(tmp_path: Path) -> None:
    with closing(SqliteReplyCache(tmp_path / "cache.db")) as reply_cache:
        thread = threading.Thread(target=reply_cache.save, args=(b"key", b"value"))
        thread.start()
        thread.join()

        assert reply_cache.get(b"key") == b"value"


WRITER = """
import sys
from evalwright.store.reply_cache import SqliteReplyCache

reply_cache = SqliteReplyCache(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
for n in range(200):
    reply_cache.save(b"%s %d" % (sys.argv[2].encode(), n), b"value")
print("done", flush=True)
sys.stdin.readline()
"""


def writer(path: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def say(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_processes_that_open_and_write_together_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    writers = [writer(path, name) for name in "abc"]
    try:
        for process in writers:
            assert hear(process) == "open"
        for process in writers:
            say(process)
        for process in writers:
            assert hear(process) == "done"
            say(process)
            assert process.wait(60) == 0
    finally:
        for process in writers:
            process.kill()
            process.communicate()

    with closing(SqliteReplyCache(path)) as reply_cache:
        keys = [f"{name} {n}".encode() for name in "abc" for n in range(200)]
        assert all(reply_cache.get(key) == b"value" for key in keys)


def test_many_may_make_the_file_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def make(path: Path) -> bytes | None:
        together.wait()
        with closing(SqliteReplyCache(path)) as reply_cache:
            reply_cache.save(b"key", b"value")
            return reply_cache.get(b"key")

    with ThreadPoolExecutor(8) as pool:
        for n in range(10):
            assert set(pool.map(make, [tmp_path / f"{n}.db"] * 8)) == {b"value"}


def test_a_file_that_is_locked_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        later = threading.Timer(0.6, other.rollback)
        later.start()

        SqliteReplyCache(path).close()
        later.join()


def test_a_killed_process_has_lost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with writer(path, "a") as process:
        assert hear(process) == "open"
        say(process)
        assert hear(process) == "done"
        process.send_signal(signal.SIGKILL)

    with closing(SqliteReplyCache(path)) as reply_cache:
        assert all(reply_cache.get(b"a %d" % n) == b"value" for n in range(200))


def test_a_reader_does_not_wait_and_a_writer_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with closing(SqliteReplyCache(path)) as reply_cache, closing(sqlite3.connect(path)) as other:
        reply_cache.save(b"key", b"value")
        other.execute("BEGIN IMMEDIATE")

        reply_cache.save(b"late", b"value")

        assert reply_cache.get(b"key") == b"value"
        assert reply_cache.get(b"late") is None
        other.execute("ROLLBACK")
        reply_cache.save(b"late", b"value")
        assert reply_cache.get(b"late") == b"value"


def database(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as other:
        for statement in statements:
            other.execute(statement)
        other.commit()


def test_another_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "places.db"
    database(path, "CREATE TABLE places (name TEXT)")
    before = path.read_bytes()

    with pytest.raises(Unreadable, match="a database, but not an evalwright cache"):
        SqliteReplyCache(path)

    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("some notes\n" * 1000, encoding="utf-8")

    with pytest.raises(Unreadable, match="not a database") as caught:
        SqliteReplyCache(path)

    assert caught.value.message.startswith(f"{path}: ")
    assert "delete it" in caught.value.hint
    assert path.read_text(encoding="utf-8") == "some notes\n" * 1000


def test_a_cache_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    SqliteReplyCache(path).close()
    database(path, "PRAGMA user_version = 9")

    with pytest.raises(Unreadable, match=r"version 9, this one knows 1"):
        SqliteReplyCache(path)


def test_a_cache_that_lost_its_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    SqliteReplyCache(path).close()
    database(path, "DROP TABLE answers")

    with pytest.raises(Unreadable, match="no such table"):
        SqliteReplyCache(path)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="a directory, not a file"):
        SqliteReplyCache(tmp_path)


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(Unreadable, match="Not a directory"):
        SqliteReplyCache(tmp_path / "file" / "folder" / "cache.db")


def test_damage_that_shows_later_stops_the_run(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with closing(SqliteReplyCache(path)) as reply_cache:
        for n in range(2000):
            reply_cache.save(b"%032d" % n, b"value" * 20)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + b"\xa5" * (len(data) // 2))

    keys = [b"%032d" % n for n in range(2000)]
    with closing(SqliteReplyCache(path)) as reply_cache:
        with pytest.raises(Stopped, match="the cache is damaged") as caught:
            list(map(reply_cache.get, keys))
        assert "delete it" in caught.value.hint
        with pytest.raises(Stopped, match="the cache is damaged"):
            list(map(reply_cache.save, keys, keys))
