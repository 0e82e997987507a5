import csv
import json
from functools import partial
from io import BytesIO, StringIO
from typing import Any

import pytest
from tests.report.export.made import RECORD, completed, failed, fanned_out, judged, written

from evalwright.report.export import write_csv


def rows(data: bytes) -> list[dict[str, Any]]:
    return list(csv.DictReader(StringIO(data.decode(), newline="")))


def test_the_header_is_flat() -> None:
    (header,) = written(write_csv, []).splitlines()

    assert header.decode().split(",") == [
        "task",
        "model",
        "sample_id",
        "trial",
        "status",
        "input",
        "output",
        "post_processed",
        "metadata",
        "failure.stage",
        "failure.type",
        "failure.message",
        "failure.hint",
        "usage.requests",
        "usage.prompt_tokens",
        "usage.completion_tokens",
        "usage.total_tokens",
        "usage.cost",
        "latency_s",
    ]


def test_a_row_has_the_facts_of_an_outcome() -> None:
    (row,) = rows(written(write_csv, [completed()]))

    assert row["record.score"] == "1.0"
    assert row["usage.total_tokens"] == "7"
    assert row["failure.stage"] == ""
    assert row["metadata"] == ""


def test_an_outcome_of_several_parts_is_several_rows() -> None:
    found = rows(written(write_csv, [fanned_out(), completed("b")]))

    told = [(row["sample_id"], row["part"], row["record.score"]) for row in found]
    assert told == [("a", "0", "1.0"), ("a", "1", "0.0"), ("b", "", "1.0")]


def test_what_is_not_known_is_an_empty_cell() -> None:
    _, row = rows(written(write_csv, [completed(), failed()]))

    assert row["failure.message"] == "no answer in 60 s"
    assert [row[name] for name in ("input", "output", "record.score", "usage.cost")] == [""] * 4


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("one\ntwo", id="a newline"),
        pytest.param("one\r\ntwo\r", id="carriage returns"),
        pytest.param('a "quote", and a comma', id="quotes and commas"),
        pytest.param("数 👩‍👩‍👧 naïve", id="unicode"),
        pytest.param("-12.5", id="a negative number"),
        pytest.param("1+1=2", id="a formula after its start"),
        pytest.param("a\x00b\x1b[31m", id="control characters"),
    ],
)
def test_text_comes_back_as_it_was(said: str) -> None:
    (row,) = rows(written(write_csv, [completed(output=said)]))

    assert row["output"] == said


@pytest.mark.parametrize(
    "said", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "=1\n2", "-1+A1", "-1\n", "+"]
)
def test_a_spreadsheet_runs_no_text_as_a_formula(said: str) -> None:
    (row,) = rows(written(write_csv, [completed(output=said)]))
    (kept,) = rows(written(partial(write_csv, keep_formulas=True), [completed(output=said)]))

    assert row["output"] == f"'{said}"
    assert kept["output"] == said


def test_rows_end_as_rfc_4180_says() -> None:
    data = written(write_csv, [completed(output="x"), failed()])

    assert data.endswith(b"\r\n")
    assert data.count(b"\r\n") == 3
    assert data.count(b"\n") == 3


def test_metadata_is_json() -> None:
    (row,) = rows(written(write_csv, [judged()]))

    assert json.loads(row["metadata"]) == {"record": RECORD}


def test_half_a_surrogate_pair_is_written_out() -> None:
    (row,) = rows(written(write_csv, [completed(output="a\ud800")]))

    assert row["output"] == "a\\ud800"


def test_the_file_stays_open_for_its_owner() -> None:
    out = BytesIO()

    write_csv(lambda: iter([completed()]), out)

    assert not out.closed
