from pathlib import Path

import pytest

from evalwright.errors import UsageError
from evalwright.session.stores import open_store, store_name
from evalwright.store.memory import MemoryStore
from evalwright.store.sqlite import SqliteStore


@pytest.mark.parametrize(
    ("name", "variable", "expected"),
    [
        pytest.param("a.db", "b.db", "a.db", id="what was said"),
        pytest.param(Path("x", "a.db"), "b.db", str(Path("x", "a.db")), id="also as a path"),
        pytest.param(None, "b.db", "b.db", id="else the environment"),
        pytest.param("", "", str(Path(".evalwright", "runs.db")), id="else a place of our own"),
    ],
)
def test_a_store_is_named_by(
    monkeypatch: pytest.MonkeyPatch, name: str | Path | None, variable: str, expected: str
) -> None:
    monkeypatch.setenv("EVALWRIGHT_STORE", variable)

    assert store_name(name) == expected


def test_a_store_is_a_file_or_nothing_but_memory(tmp_path: Path) -> None:
    kept, forgotten = open_store(tmp_path / "new" / "runs.db"), open_store("memory:")

    assert isinstance(kept, SqliteStore)
    assert isinstance(forgotten, MemoryStore)
    kept.close()
    assert (tmp_path / "new" / "runs.db").exists()


def test_a_server_is_no_store_here() -> None:
    with pytest.raises(UsageError, match="a store must be a file") as refused:
        open_store("postgresql://localhost/runs")

    assert refused.value.hint == "give the path of a file"
