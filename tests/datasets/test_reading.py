"""Whatever the bytes: rows, or one of our errors on one line."""

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.datasets.reading import FileRows, digest_of
from evalwright.errors import BadDataset, Unreadable

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False,
    allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def read(content: bytes, ending: str) -> list[dict[str, Any]]:
    with tempfile.NamedTemporaryFile(suffix=ending) as file:
        file.write(content)
        file.flush()
        return list(FileRows(lambda: Path(file.name), ending).rows())


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json"])
@given(content=st.binary(max_size=60) | TEXTS.map(str.encode))
def test_any_bytes_are_rows_or_an_error_of_one_line(ending: str, content: bytes) -> None:
    said = ""
    rows: list[dict[str, Any]] = []
    try:
        rows = read(content, ending)
    except (BadDataset, Unreadable) as error:
        said = error.message

    assert "\n" not in said
    assert all(isinstance(key, str) for row in rows for key in row)


@given(rows=st.lists(st.dictionaries(TEXTS, JSON, max_size=4), max_size=5))
def test_json_lines_come_back_as_they_were_written(rows: list[dict[str, Any]]) -> None:
    content = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)

    assert read(content, ".jsonl") == rows
    assert digest_of(read(content, ".jsonl")) == digest_of(rows)


@given(
    cells=st.lists(
        st.tuples(TEXTS.map("t{}".format), st.integers(-(10**17), 10**17), st.booleans()),
        min_size=1,
        max_size=5,
    )
)
def test_csv_comes_back_as_it_was_written(cells: list[tuple[str, int, bool]]) -> None:
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(["text", "number", "truth"])
    table.writerows(cells)

    found = read(written.getvalue().encode(), ".csv")

    assert found == [
        {"text": text, "number": number, "truth": truth} for text, number, truth in cells
    ]
