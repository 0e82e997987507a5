import gzip
from pathlib import Path
from typing import Any

import pytest

from evalwright.datasets.json_files import read_objects
from evalwright.errors import BadDataset


def rows(tmp_path: Path, raw: bytes) -> list[dict[str, Any]]:
    path = tmp_path / "a.jsonl"
    path.write_bytes(raw)
    return list(read_objects(str(path)))


def test_types_are_those_of_json(tmp_path: Path) -> None:
    line = (
        b'{"a": 1, "b": 1.0, "c": null, "d": true, "e": "1", "f": [{}], "g": 1234567890123456789}'
    )

    (row,) = rows(tmp_path, line)

    assert row == {
        "a": 1, "b": 1.0, "c": None, "d": True, "e": "1", "f": [{}], "g": 1234567890123456789,
    }  # fmt: skip
    assert (type(row["a"]), type(row["b"]), type(row["d"])) == (int, float, bool)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"a":1}\n{"a":2}', id="no newline at the end"),
        pytest.param(b'\xef\xbb\xbf{"a":1}\r\n{"a":2}\r\n', id="a mark, Windows line ends"),
        pytest.param(b'\n{"a":1}\n   \n\n{"a":2}\n\n', id="blank lines"),
        pytest.param(gzip.compress(b'{"a":1}\n{"a":2}\n', mtime=0), id="compressed"),
    ],
)
def test_reads(tmp_path: Path, raw: bytes) -> None:
    assert rows(tmp_path, raw) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("line", "said", "hint"),
    [
        pytest.param(b'{"a" 1}', ":2:6: not JSON: expecting ':' delimiter", "", id="no colon"),
        pytest.param(b'{"a": 1', ":2:8: not JSON", "", id="cut short"),
        pytest.param(b'{"a": 1} x', ":2:10: not JSON: extra data", "", id="more after it"),
        pytest.param(b"{'a': 1}", ":2:2: not JSON", "double quotes", id="written by Python"),
        pytest.param(b'{"a": NaN}', ":2:7: not JSON: `NaN`", "write null", id="NaN"),
        pytest.param(b'{"a": -Infinity}', ":2:7: not JSON: `-Infinity`", "", id="Infinity"),
        pytest.param(b"[1]", ":2: expected an object, got a list", "write a row as", id="a list"),
        pytest.param(b'"a"', ":2: expected an object, got a string", "", id="a text"),
        pytest.param(b"3", ":2: expected an object, got a number", "", id="a number"),
        pytest.param(b"null", ":2: expected an object, got null", "", id="null"),
        pytest.param(b"[", ":2:2: not JSON", "named .json", id="a list over lines"),
        pytest.param(b'{"a": "caf\xe9"}', ":2:11: byte 0xe9 is not UTF-8", "Latin-1", id="Latin-1"),
        pytest.param(b'{"a": "\\ud800"}', ":2: lone surrogate in a string", "", id="surrogate"),
        pytest.param(b'{"a": 1e999}', ":2: lone surrogate in a string, or number", "",
                     id="beyond all numbers"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", ":2: number with too many", "", id="digits"),
        pytest.param(b'{"a":' + b"[" * 9999 + b"]" * 9999 + b"}", ":2: nested too", "", id="deep"),
    ],
)  # fmt: skip
def test_refuses(tmp_path: Path, line: bytes, said: str, hint: str) -> None:
    with pytest.raises(BadDataset) as caught:
        rows(tmp_path, b'{"a": 0}\n' + line + b'\n{"a": 2}\n')

    assert f"a.jsonl{said}" in caught.value.message
    assert hint in caught.value.hint
    assert "\n" not in caught.value.message


def test_all_bad_lines_are_counted_and_the_first_few_told(tmp_path: Path) -> None:
    with pytest.raises(BadDataset) as caught:
        rows(tmp_path, b'{"a": 0}\n' + b"x\n" * 12 + b'{"a": 1}\n')

    said = caught.value.message
    assert "a.jsonl:2:1: not JSON: expecting value; also lines 3, 4, 5, 6…" in said
    assert said.endswith("12 of 14 lines cannot be read")


def test_rows_come_out_up_to_the_first_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 0}\nx\n{"a": 1}\n')
    found = read_objects(str(path))

    assert next(found) == {"a": 0}
    with pytest.raises(BadDataset):
        next(found)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "a.jsonl"
    path.write_bytes((b'{"a": "' + b"x" * 500 + b'"}\n') * 20_000)
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_objects(str(path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert count == 20_000
    assert peak < 3_000_000
