import gzip
import os
import sys
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from pydantic import ValidationError

from evalwright.components import Authored
from evalwright.datasets.local import Local
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset, Unreadable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

JSONL = b'{"a": 1}\n{"a": 2}\n'
CSV = b"a\n1\n2\n"
TWO = [{"a": 1}, {"a": 2}]


def local(path: str | Path, **more: Any) -> Rows:
    source = Local.model_validate({"type": "local", "file_path": str(path), **more})
    return source.rows(Surroundings(cache_dir=Path("unused")))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("a.jsonl", JSONL, id="jsonl"),
        pytest.param("a.JSONL", JSONL, id="in capitals"),
        pytest.param("a.ndjson", JSONL, id="ndjson"),
        pytest.param("a.csv", CSV, id="csv"),
        pytest.param("a.json", b'[{"a": 1},\n{"a": 2}]', id="json"),
        pytest.param("a.jsonl.gz", gzip.compress(JSONL, mtime=0), id="jsonl.gz"),
        pytest.param("a.csv.gz", gzip.compress(CSV, mtime=0), id="csv.gz"),
        pytest.param("a.jsonl.zst", zstd.compress(JSONL), id="jsonl.zst"),
        pytest.param("a.csv.zst", zstd.compress(CSV), id="csv.zst"),
        pytest.param("a.csv", gzip.compress(CSV, mtime=0), id="compressed under a plain name"),
    ],
)
def test_the_name_says_how_a_file_is_read(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)

    assert list(local(tmp_path / name).rows()) == TWO


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("a.txt", "expected a .csv, .jsonl, .json or .parquet file, got `a.txt`",
                     id="text"),
        pytest.param("a.jsonll", "did you mean `.jsonl`?", id="misspelt"),
        pytest.param("data", "got `data`", id="no ending"),
        pytest.param("a.gz", "got `a.gz`", id="only the compression"),
        pytest.param("a.xlsx", "got `a.xlsx`", id="a spreadsheet"),
        pytest.param("a.parquet.gz", "Parquet files are already compressed", id="compressed twice"),
        pytest.param("", "expected the path of a file", id="nothing"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused_before_it_is_looked_for(name: str, said: str) -> None:
    with pytest.raises(ValidationError, match=r".") as caught:
        local(name)

    assert said in str(caught.value)


def test_a_path_is_relative_to_the_document(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_bytes(CSV)
    written = Authored("data/a.csv", file=str(tmp_path / "dataset.yaml"), line=3)

    source = Local.model_validate({"type": "local", "file_path": written})

    assert list(source.rows(Surroundings(cache_dir=tmp_path)).rows()) == TWO


def test_rows_can_be_read_again_and_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV)
    rows = local(tmp_path / "a.csv")

    assert list(zip(rows.rows(), rows.rows(), strict=True)) == [(one, one) for one in TWO]


def test_the_digest_is_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    for name, content in (("a.csv", CSV), ("b.csv", CSV), ("c.csv", b"a\n1\n3\n")):
        (tmp_path / name).write_bytes(content)
    one, same, other = (local(tmp_path / f"{name}.csv").digest for name in "abc")

    assert one == same
    assert one != other
    assert one != local(tmp_path / "a.csv", missing="nan").digest


def test_the_digest_knows_the_way_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"{}\n{}\n")
    (tmp_path / "a.jsonl").write_bytes(b"{}\n{}\n")

    assert local(tmp_path / "a.csv").digest != local(tmp_path / "a.jsonl").digest


def test_a_missing_file_has_a_neighbour_of_almost_that_name(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_bytes(CSV)

    with pytest.raises(Unreadable, match="no such file") as caught:
        list(local(tmp_path / "question.csv").rows())

    assert caught.value.hint == "did you mean `questions.csv`?"


def test_a_directory_is_a_source_of_another_type(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()

    with pytest.raises(Unreadable, match="a directory, not a file") as caught:
        list(local(tmp_path / "a.csv").rows())

    assert "type: folder" in caught.value.hint


def test_a_pipe_cannot_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")

    with pytest.raises(Unreadable, match="rows are read more than once"):
        local(tmp_path / "a.csv").check()


@pytest.mark.parametrize(
    "second", [pytest.param(b"a\n1\n5\n7\n", id="longer"), pytest.param(b"b,c\n", id="another")]
)
def test_a_file_that_changes_in_between_is_an_error(tmp_path: Path, second: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    rows = local(path)
    assert rows.check() == 2

    path.write_bytes(second)

    with pytest.raises(BadDataset, match="the file changed while it was in use"):
        list(rows.rows())


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CSV * 1)
    reading = local(path).rows()
    next(reading)

    path.write_bytes(b"a\n1\n2\n3\n")

    with pytest.raises(BadDataset, match="the file changed"):
        list(reading)


def test_soon_after_a_file_has_changed_no_row_of_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a\n" + b"1\n" * 1000)
    reading = local(path).rows()
    next(reading)

    path.write_bytes(b"a\n" + b"2\n" * 2000)
    sleep(0.05)

    with pytest.raises(BadDataset, match="the file changed"):
        next(reading)


def test_a_cut_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(JSONL * 1000, mtime=0)[:-9])

    with pytest.raises(Unreadable, match="ends early"):
        list(local(tmp_path / "a.jsonl.gz").rows())
