from pathlib import Path
from typing import Any

from evalwright.spec.documents.validation import check_documents
from evalwright.types import Issue


def problem(file: str, line: int = 1, **fields: Any) -> Issue:
    return Issue(
        **{
            "file": file,
            "line": line,
            "column": 3,
            "rule": "bad_value",
            "detail": "wrong",
            **fields,
        }
    )


def test_each_file_has_its_own_entry_in_the_order_they_were_met() -> None:
    problems = [problem("b.yaml"), problem("c.py")]

    kinds = {"a.yaml": "task", "b.yaml": "dataset"}

    found = list(check_documents(["a.yaml", "b.yaml"], problems, kinds))

    assert [(one.file, one.kind, one.valid) for one in found] == [
        ("a.yaml", "task", 1),
        ("b.yaml", "dataset", 0),
        ("c.py", "included", 0),
    ]


def test_issues_come_in_the_order_of_their_places_and_are_counted() -> None:
    problems = [problem("a", 9, rule="x"), problem("a", 2), problem("a", 2, column=1)]

    (check,) = check_documents([], problems, {})

    assert [(issue.line, issue.column) for issue in check] == [(2, 1), (2, 3), (9, 3)]
    assert (check.rules, check.errors) == ({"bad_value": 2, "x": 1}, 3)


def test_warnings_make_nothing_invalid() -> None:
    (check,) = check_documents([], [problem("a", level="warning", hint="write b")], {})

    assert (list(check), check.valid) == ([], 1)
    assert [one.message for one in check.warnings] == ["wrong; write b"]


def test_an_issue_shows_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("\ufeffkey: one\nnöme: two\n", encoding="utf-8")

    (check,) = check_documents([], [problem(str(file), 2)], {})

    assert [issue.raw for issue in check] == ["nöme: two"]
