"""Declared types and bad rows, in every format, with the lines of the file."""

from pathlib import Path
from typing import Any

import pytest

from evalwright.components import Authored
from evalwright.datasets.local import Local
from evalwright.datasets.rows import AlignedRows, Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset

CSV = (
    b"\xef\xbb\xbfid,age,note\n"
    b'1,41,"two\nlines"\n'
    b"\n"
    b"2,forty,x\n"
    b"3,42\n"
    + "4,43,ملاحظة\n".encode()
    + b"5,44,caf\xe9\n"
    + b"6,,\n"
)  # fmt: skip
JSONL = b'{"age": "41"}\n\n{"age": "forty"}\n{bad\n[]\n{"age": null}\n'
JSON = b'{"data": [{"rows": [\n{"age": 41}, {"age": "x"},\n7,\n{}\n]}]}'


def local(tmp_path: Path, name: str, content: bytes, **options: Any) -> Rows:
    path = tmp_path / name
    path.write_bytes(content)
    options = {"columns": {"age": "int"}, **options}
    written = Authored(str(path), file=str(tmp_path / "dataset.yaml"))
    source = Local.model_validate({"type": "local", "file_path": written, **options})
    return source.rows(Surroundings(cache_dir=tmp_path))


def bad_rows(rows: Rows) -> tuple[int, list[int]]:
    return sum(bad.count for bad in rows.bad_rows), [f.line for b in rows.bad_rows for f in b.first]


@pytest.mark.parametrize(
    ("name", "content", "options", "ages", "bad"),
    [
        pytest.param("a.csv", CSV, {}, [41, 43, None], [5, 6, 8], id="CSV"),
        pytest.param("a.jsonl", JSONL, {}, [41, None], [3, 4, 5], id="JSON Lines"),
        pytest.param(
            "a.json", JSON, {"records": "$.data[0].rows[*]"}, [41, None], [2, 3], id="nested JSON"
        ),
        pytest.param(
            "b.jsonl",
            b'{"out": [{"age": 1}, {"age": "2"}]}\n'
            b'{"out": [{"age": "x"}]}\n{"no": 1}\n{"out": [3]}',
            {"records": "$.out[*]"},
            [1, 2],
            [2, 3, 4],
            id="nested JSON Lines",
        ),
    ],
)
def test_bad_rows_are_excluded_and_counted_with_their_lines(
    tmp_path: Path,
    name: str,
    content: bytes,
    options: dict[str, Any],
    ages: list[int | None],
    bad: list[int],
) -> None:
    rows = local(tmp_path, name, content, on_bad_rows="exclude", **options)

    assert rows.check() == len(ages)
    assert [row.get("age") for row in rows.rows()] == ages
    assert bad_rows(rows) == (len(bad), bad)


def test_a_row_that_does_not_fit_is_an_error_by_default(tmp_path: Path) -> None:
    rows = local(tmp_path, "a.csv", b"age,joined\n1,x\ntwo,x\n3,x\nfour,x\n")

    with pytest.raises(BadDataset) as caught:
        rows.check()

    assert caught.value.message == (
        f"{tmp_path}/a.csv:3: `age`: expected an integer, got `two`; also line 5; "
        "2 of 4 rows do not fit"
    )
    assert "on_bad_rows: exclude" in caught.value.hint


def test_kept_rows_have_their_values_as_they_are(tmp_path: Path) -> None:
    rows = local(tmp_path, "a.csv", b"age\n1\ntwo\n", on_bad_rows="keep")

    assert list(rows.rows()) == [{"age": 1}, {"age": "two"}]
    assert bad_rows(rows) == (1, [3])


def test_a_file_that_ends_inside_a_cell_is_an_error_even_if_bad_rows_are_excluded(
    tmp_path: Path,
) -> None:
    rows = local(tmp_path, "a.csv", b'age\nx\n"1\n2\n', on_bad_rows="exclude")

    with pytest.raises(BadDataset, match=r"a\.csv:3: unclosed quote"):
        rows.check()


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", b"aeg\n1\n"), ("a.jsonl", b'{"aeg": 1}\n')],
)
def test_a_declared_column_must_exist(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(BadDataset, match="`columns` declares `age`, which no row has") as caught:
        local(tmp_path, name, content).check()

    assert "`aeg`" in caught.value.hint


def test_columns_without_a_declared_type_are_read_as_before(tmp_path: Path) -> None:
    content = b"age,code,n\n007,007,1\n8,9,2\n"

    assert list(local(tmp_path, "a.csv", content).rows()) == [
        {"age": 7, "code": "007", "n": 1},
        {"age": 8, "code": "9", "n": 2},
    ]


def test_the_options_are_part_of_the_digest_and_their_absence_is_not(tmp_path: Path) -> None:
    options: list[dict[str, Any]] = [
        {"columns": {}},
        {"columns": {}, "on_bad_rows": "fail"},
        {},
        {"columns": {"age": "float"}},
        {"on_bad_rows": "exclude"},
        {"on_bad_rows": "keep"},
    ]

    digests = [local(tmp_path, "a.csv", b"age\n1\n", **each).digest for each in options]

    assert digests[0] == digests[1]
    assert len(set(digests)) == len(options) - 1
    nested = [
        local(tmp_path, "a.json", b'{"a": [], "b": []}', columns={}, records=path).digest
        for path in ("$.a", "$.b")
    ]
    assert nested[0] != nested[1]


def test_messages_about_ids_and_filters_name_the_line(tmp_path: Path) -> None:
    content = b'sample_id,age\na,"1"\n"b\nc",2\nd,x\ne,3\ne,4\n'
    filters = [{"op": "greater_than", "expression": "{{ sample.age }}", "value": 1}]
    options = {"on_bad_rows": "exclude"}

    with pytest.raises(BadDataset) as repeated:
        local(tmp_path, "a.csv", content, filters=filters, **options).check()
    with pytest.raises(BadDataset) as failed:
        local(tmp_path, "a.csv", content, filters=[{**filters[0], "value": "x"}], **options).check()

    assert f"two rows have the `sample_id` `e` ({tmp_path}/a.csv:6 and" in repeated.value.message
    assert f"{tmp_path}/a.csv:2: filters[0]: " in failed.value.message


def test_datasets_that_leave_rows_out_are_not_joined_by_position(tmp_path: Path) -> None:
    whole = local(tmp_path, "a.csv", b"age\n1\n2\n")
    part = local(tmp_path, "b.csv", b"age\n1\nx\n2\n", on_bad_rows="exclude")

    with pytest.raises(BadDataset, match="`b` leaves out 1 bad rows, so it cannot be joined"):
        AlignedRows({"a": whole, "b": part}).check()


def test_records_are_for_json(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"`records` is for \.json and \.jsonl files, got `a\.csv`"
    ):
        local(tmp_path, "a.csv", b"age\n1\n", records="$[*]")
