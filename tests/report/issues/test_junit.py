from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.report.issues.made import GOOD_LINE, checking, missing
from tests.spec.records.made import record, written

from evalwright.report.issues import render_junit
from evalwright.spec.checking import Checking
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD


def suites_of(*checks: Checking) -> list[ET.Element]:
    """What a reader of JUnit XML sees; the text is ours, so no attack hides in it."""
    return list(ET.fromstring("".join(render_junit(checks)).encode()))  # noqa: S314


def counts(suite: ET.Element) -> tuple[str | None, ...]:
    return tuple(suite.get(name) for name in ("tests", "failures", "errors"))


def test_a_file_is_a_suite_and_an_issue_a_failed_case(tmp_path: Path) -> None:
    check = checking(tmp_path, GOOD_LINE, written(record(task_id="b", prompt="")))

    (suite,) = suites_of(check)
    good, bad = suite

    assert suite.get("name") == check.file
    assert counts(suite) == ("2", "1", "0")
    assert (good.get("name"), good.get("classname"), len(good)) == ("1 valid", check.file, 0)
    assert (bad.get("name"), bad.get("classname")) == ("line 2", check.file)
    assert bad[0].tag == "failure"
    assert bad[0].attrib == {"type": "bad_value", "message": "`prompt` is empty"}
    assert bad[0].text == f"{check.file}:2: bad_value: `prompt` is empty"


def test_counts_are_those_of_the_cases() -> None:
    suites = suites_of(Checking(str(TASKS)), Checking(str(TASKS_BAD)))

    assert [counts(suite) for suite in suites] == [("1", "0", "0"), ("70", "70", "0")]
    assert [len(suite) for suite in suites] == [1, 70]


def test_an_empty_file_is_an_empty_suite(tmp_path: Path) -> None:
    (suite,) = suites_of(checking(tmp_path))

    assert counts(suite) == ("0", "0", "0")
    assert len(suite) == 0


def test_a_file_that_cannot_be_read_is_an_error_and_hides_no_other(tmp_path: Path) -> None:
    gone, there = suites_of(missing(tmp_path), checking(tmp_path, b"{}"))

    assert counts(gone) == ("1", "0", "1")
    assert gone[0].get("name") == "readable"
    assert gone[0][0].tag == "error"
    assert gone[0][0].get("message") == f"{tmp_path}/missing.jsonl: no such file"
    assert counts(there) == ("1", "1", "0")


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        pytest.param("]]>", "]]>", id="the end of a CDATA section"),
        pytest.param("<a>&amp;'\"", "<a>&amp;'\"", id="markup"),
        pytest.param("</failure><b>", "</failure><b>", id="the end of the element"),
        pytest.param("a\0b\x1b\x08", "a�b��", id="what XML cannot hold"),
        pytest.param("\ufffe\uffff", "��", id="what is no character"),
        pytest.param("a\tb", "a\tb", id="a tab"),
        pytest.param("漢字 👍 שלום", "漢字 👍 שלום", id="any script"),
    ],
)
def test_whatever_a_file_holds_the_xml_can_be_parsed(tmp_path: Path, key: str, shown: str) -> None:
    (suite,) = suites_of(checking(tmp_path, written(record(**{key: 1}))))
    failure = suite[0][0]

    assert failure.get("message", "").startswith(f"`{shown}` is not a field")
    assert f"`{shown}` is not a field" in (failure.text or "")


def test_newlines_stay_within_a_message(tmp_path: Path) -> None:
    (suite,) = suites_of(checking(tmp_path, written(record(**{"a\nb": 1}))))

    assert suite[0][0].get("message", "").startswith("`a\nb` is not a field")


@pytest.mark.parametrize("name", ["a\"b'<c>&.jsonl", "a\x1bb.jsonl", "\udcff.jsonl"])
def test_any_name_of_a_file_is_xml(tmp_path: Path, name: str) -> None:
    (suite,) = suites_of(checking(tmp_path, b"{}", name=name))

    assert (suite.get("name") or "").endswith(".jsonl")
