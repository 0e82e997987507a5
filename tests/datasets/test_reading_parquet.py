import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from evalwright.datasets.reading import ParquetFile
from evalwright.errors import BadDataset, Unreadable, UsageError


def written(tmp_path: Path, columns: dict[str, Any]) -> ParquetFile:
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    return ParquetFile(tmp_path / "a.parquet")


def test_types_are_kept_as_far_as_json_has_them(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        {
            "a": [1, None],
            "b": ["x", "y"],
            "c": [[1, 2], []],
            "d": [{"e": True}, {"e": None}],
            "f": [datetime(2026, 5, 12, 10, 30, tzinfo=UTC)] * 2,
            "g": [date(2026, 5, 12)] * 2,
            "h": [Decimal("1.50"), Decimal("2.00")],
            "i": [b"text", b""],
            "j": pa.array([["k", None], None], pa.list_(pa.string(), 2)),
            "l": pa.array([[("m", ["n"])], None], pa.map_(pa.string(), pa.list_(pa.string()))),
        },
    )

    assert list(file.rows()) == [
        {"a": 1, "b": "x", "c": [1, 2], "d": {"e": True}, "f": "2026-05-12T10:30:00+00:00",
         "g": "2026-05-12", "h": 1.5, "i": "text", "j": ["k", None], "l": [["m", ["n"]]]},
        {"a": None, "b": "y", "c": [], "d": {"e": None}, "f": "2026-05-12T10:30:00+00:00",
         "g": "2026-05-12", "h": 2, "i": "", "j": None, "l": None},
    ]  # fmt: skip
    assert file.header == ("a", "b", "c", "d", "f", "g", "h", "i", "j", "l")


def test_rows_come_from_all_batches_in_their_order(tmp_path: Path) -> None:
    file = written(tmp_path, {"a": list(range(2500))})

    assert [row["a"] for row in file.rows()] == list(range(2500))


def test_texts_that_are_stored_as_differences_are_read(tmp_path: Path) -> None:
    table = pa.table({"a": [f"text {number}" for number in range(20)]})
    options = {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}
    parquet.write_table(table, tmp_path / "a.parquet", **options)

    assert list(ParquetFile(tmp_path / "a.parquet").rows()) == table.to_pylist()


def test_bytes_that_are_no_text_are_an_error_that_names_the_column(tmp_path: Path) -> None:
    file = written(tmp_path, {"image": [b"ok", b"\x89PNG"]})

    with pytest.raises(BadDataset, match="row 1: column `image`: expected text, got 4 bytes"):
        list(file.rows())


def test_what_is_no_parquet_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"a,b\n1,2\n")

    with pytest.raises(Unreadable, match="not a Parquet file") as caught:
        list(ParquetFile(tmp_path / "a.parquet").rows())

    assert "\n" not in caught.value.message


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(UsageError, match="needs pyarrow") as caught:
        list(ParquetFile(tmp_path / "a.parquet").rows())

    assert caught.value.hint == "pip install 'evalwright[parquet]'"
