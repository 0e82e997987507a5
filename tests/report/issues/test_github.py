from pathlib import Path

import pytest
from tests.report.issues.made import GOOD_LINE, checking, missing
from tests.spec.records.made import record, written

from evalwright.report.issues import render_github
from evalwright.spec.checking import Checking


def lines_of(*checks: Checking) -> list[str]:
    return "".join(render_github(checks)).split("\n")[:-1]


def test_an_issue_is_one_annotation(tmp_path: Path) -> None:
    check = checking(tmp_path, GOOD_LINE, written(record(task_id="b", prompt="")), b"[]")

    first, second = lines_of(check)

    assert first == f"::error file={check.file},line=2,col=54,title=bad_value::`prompt` is empty"
    assert second.startswith(f"::error file={check.file},line=3,title=not_an_object::a record must")


def test_good_files_say_nothing(tmp_path: Path) -> None:
    assert lines_of(checking(tmp_path, GOOD_LINE), checking(tmp_path)) == []


def test_a_file_that_cannot_be_read_is_an_annotation_too(tmp_path: Path) -> None:
    gone = missing(tmp_path)

    found = lines_of(gone, checking(tmp_path, b"{}"))

    assert found[0] == f"::error file={gone.file}::{gone.file}: no such file"
    assert found[1].endswith(
        "title=missing_required::`task_id` is missing"
        "%0Aalso missing_required: `category` is missing"
        "%0Aalso missing_required: `prompt` is missing"
        "%0Aalso missing_required: `targets` is missing"
        "%0Aalso missing_required: `metric_name` is missing"
        "%0Aalso missing_required: `post_process` is missing"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("a,b.jsonl", "a%2Cb.jsonl", id="a comma ends no property"),
        pytest.param("a:b.jsonl", "a%3Ab.jsonl", id="a colon"),
        pytest.param("a::b.jsonl", "a%3A%3Ab.jsonl", id="two colons end no head"),
        pytest.param("a%2Cb.jsonl", "a%252Cb.jsonl", id="a percent sign"),
        pytest.param("a\r\nb.jsonl", "a%0D%0Ab.jsonl", id="a newline ends no command"),
    ],
)
def test_names_are_escaped(tmp_path: Path, name: str, expected: str) -> None:
    (found,) = lines_of(checking(tmp_path, b"{}", name=name))

    assert found.startswith(f"::error file={tmp_path}/{expected},line=1,title=")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("100%", "`100%25`", id="a percent sign"),
        pytest.param("a,b::c", "`a,b::c`", id="commas and colons are free in a message"),
        pytest.param("a\r\n::error::b", "`a%0D%0A::error::b`", id="no second command"),
    ],
)
def test_messages_are_escaped(tmp_path: Path, key: str, expected: str) -> None:
    (found,) = lines_of(checking(tmp_path, written(record(**{key: 1}))))

    assert found.partition("title=unknown_field::")[2].startswith(expected)
