import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.issues.made import GOOD_LINE, checking, missing
from tests.spec.records.made import record, written

from evalwright.report.issues import render_json
from evalwright.spec.checking import Checking
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD


def rendered(*checks: Checking) -> Any:
    return json.loads("".join(render_json(checks)))


def test_the_shape_that_tools_rely_on(tmp_path: Path) -> None:
    broken = written(record(task_id="b", prompt=""))
    check = checking(tmp_path, GOOD_LINE, b"", broken, b"[]")

    assert rendered(check) == {
        "files": [
            {
                "file": str(tmp_path / "tasks.jsonl"),
                "kind": "records",
                "valid": 1,
                "errors": [
                    {
                        "line": 3,
                        "column": 54,
                        "rule": "bad_value",
                        "field": "prompt",
                        "task_id": "b",
                        "detail": "`prompt` is empty",
                        "raw": broken.decode(),
                        "also": [],
                    },
                    {
                        "line": 4,
                        "column": None,
                        "rule": "not_an_object",
                        "field": None,
                        "task_id": None,
                        "detail": "a record must be a JSON object, not a list",
                        "raw": "[]",
                        "also": [],
                    },
                ],
            }
        ],
        "valid": 1,
        "errors": 2,
    }


def test_counts_are_of_all_files() -> None:
    found = rendered(Checking(str(TASKS)), Checking(str(TASKS_BAD)))

    assert [(file["valid"], len(file["errors"])) for file in found["files"]] == [(10, 0), (0, 70)]
    assert (found["valid"], found["errors"]) == (10, 70)


def test_an_empty_file_is_there_with_nothing_in_it(tmp_path: Path) -> None:
    (file,) = rendered(checking(tmp_path))["files"]

    assert (file["valid"], file["errors"]) == (0, [])


def test_a_file_that_cannot_be_read_says_so_and_hides_no_other(tmp_path: Path) -> None:
    found = rendered(missing(tmp_path), checking(tmp_path, GOOD_LINE, b"{}"))

    assert found["files"][0] == {
        "file": str(tmp_path / "missing.jsonl"),
        "kind": "records",
        "valid": 0,
        "errors": [],
        "unreadable": f"{tmp_path}/missing.jsonl: no such file",
    }
    assert "unreadable" not in found["files"][1]
    assert (found["valid"], found["errors"]) == (1, 1)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"a": "\\"\\u0000"}', id="quotes and escapes"),
        pytest.param(b'{"\x01\x1b": "]]>"', id="control characters"),
        pytest.param("漢字\u2028👍".encode(), id="any script"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
    ],
)
def test_the_raw_line_survives(tmp_path: Path, line: bytes) -> None:
    (error,) = rendered(checking(tmp_path, line))["files"][0]["errors"]

    assert error["raw"] == line.decode(errors="replace")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param('a"b\\c.jsonl', 'a"b\\c.jsonl', id="quotes"),
        pytest.param("a\nb.jsonl", "a\nb.jsonl", id="a newline"),
        pytest.param("\udcff.jsonl", "?.jsonl", id="bytes that are no UTF-8"),
    ],
)
def test_any_name_of_a_file_is_json(tmp_path: Path, name: str, expected: str) -> None:
    (file,) = rendered(checking(tmp_path, b"{}", name=name))["files"]
    (gone,) = rendered(Checking(f"{tmp_path}/{name}x"))["files"]

    assert file["file"] == f"{tmp_path}/{expected}"
    assert gone["unreadable"].endswith(": no such file")


def test_no_files_are_an_answer_too() -> None:
    assert rendered() == {"files": [], "valid": 0, "errors": 0}
