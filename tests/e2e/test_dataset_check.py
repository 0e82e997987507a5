"""`evalwright dataset check`: dirty files, projects, exit codes and formats."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.e2e.in_process import evalwright

import evalwright as ew

HEADER = "id,question,age,joined,mood\n"
DIRTY = b"\xef\xbb\xbf" + (
    HEADER
    + '1,"What is the capital\nof France?",41,2026-03-01,good\n'
    + "2,Mail ana@example.org or call +49 170 1234567,39,03/04/2026,good\n"
    + "2,ما هي عاصمة فرنسا يا صديقي؟,forty,2026-03-02,bad\n"
    + "4,n/a,38,2026-03-05,good\n"
    + "5,short row\n"
    + '1,"What is the capital\nof France?",41,2026-03-01,good\n'
).encode() + "6,Où est le café ?,12,2026-03-06,bad\n".encode("latin-1")  # fmt: skip


def check(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = evalwright("dataset", "check", *arguments, "--json", cwd=folder)
    assert done.returncode == code, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def places(report: dict[str, Any]) -> dict[str, tuple[int, list[str]]]:
    """By check, the counts and the places of the examples."""
    return {
        problem["check"] + (f":{problem['column']}" if problem["column"] else ""): (
            problem["count"],
            [example["where"] for example in problem["examples"]],
        )
        for problem in report["problems"]
    }


def test_a_dirty_file_is_reported_with_counts_and_lines(tmp_path: Path) -> None:
    (tmp_path / "dirty.csv").write_bytes(DIRTY)

    report = check(tmp_path, "dirty.csv")

    assert report["rows"] == 5
    found = places(report)
    assert found.pop("personal_data:question")[1] == ["dirty.csv:4"]
    assert found == {
        "bad_rows": (1, ["dirty.csv:7"]),
        "encoding": (1, ["dirty.csv:10"]),
        "placeholder:question": (1, ["dirty.csv:6"]),
        "mixed_types:age": (1, ["dirty.csv:5"]),
        "mixed_types:joined": (1, ["dirty.csv:4"]),
        "duplicate_rows": (1, ["dirty.csv:8"]),
        "duplicate_ids:id": (2, ["dirty.csv:5", "dirty.csv:8"]),
    }
    assert "byte order mark" in report["notes"][0]
    (question,) = (column for column in report["columns"] if column["name"] == "question")
    assert question["scripts"] == {"Latin": 4, "Arabic": 1}
    assert question["languages"]["ar"] == 1
    jsonschema.validate(report, ew.schema("check"))


def test_the_same_rows_have_the_same_problems_in_every_format(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [{"id": n, "q": f"How far is it to Rome number {n % 3}?"} for n in range(4)]
    (tmp_path / "a.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=0))
    (tmp_path / "a.csv").write_text("\n".join(["id,q", *(f"{r['id']},{r['q']}" for r in rows)]))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")

    found = {name: places(check(tmp_path, name)) for name in ("a.jsonl", "a.json", "a.csv")}
    found["a.parquet"] = places(check(tmp_path, "a.parquet"))

    assert found == {
        "a.jsonl": {"duplicate_rows": (1, ["a.jsonl:7"])},
        "a.json": {"duplicate_rows": (1, ["a.json:14"])},
        "a.csv": {"duplicate_rows": (1, ["a.csv:5"])},
        "a.parquet": {"duplicate_rows": (1, ["a.parquet: row 3"])},
    }
    assert places(ew.check_dataset(rows).to_dict()) == {"duplicate_rows": (1, ["rows: row 3"])}


@pytest.mark.parametrize(
    ("content", "checks", "rows"),
    [
        pytest.param(b"", ["no_rows"], 0, id="empty"),
        pytest.param(b"a,b\n", ["no_rows"], 0, id="header only"),
        pytest.param("a,b\né,1\nx,2\n".encode("latin-1"), ["encoding"], 1, id="Latin-1"),
        pytest.param("a,b\né,1\n".encode("utf-16"), ["no_rows", "encoding"], 0, id="UTF-16"),
        pytest.param(b'a,b\n1,2\n"3,4\n5,6\n', ["bad_rows"], 1, id="a quote that is not closed"),
    ],
)
def test_files_with_hardly_any_rows_are_reported(
    tmp_path: Path, content: bytes, checks: list[str], rows: int
) -> None:
    (tmp_path / "a.csv").write_bytes(content)

    report = check(tmp_path, "a.csv")

    assert [problem["check"] for problem in report["problems"]] == checks
    assert report["rows"] == rows


def test_a_document_without_a_list_of_rows_is_refused_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"outputs": [{"question": "Who?"}]}')

    done = evalwright("dataset", "check", "a.json", cwd=tmp_path)

    assert done.returncode != 0
    assert "a.json: expected a list of objects, got an object" in done.stderr
    assert '`records: "$.outputs[*]"`' in done.stderr


def test_leaks_between_two_files_fail_the_command_if_it_should(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(HEADER + "7,What is 2 + 2 then?,1,2026-01-01,good\n")
    (tmp_path / "test.csv").write_text(
        HEADER + "8,what is 2 + 2 then,1,2026-01-01,bad\n9,What is 2 + 3 then?,1,2026-01-01,bad\n"
    )
    against = ("test.csv", "--against", "train.csv")

    report = check(tmp_path, *against, "--fail-on", "leaks,near_leaks", code=1)
    check(tmp_path, *against, "--fail-on", "leaks", "--fail-on", "missing")
    unknown = evalwright("dataset", "check", *against, "--fail-on", "leeks", cwd=tmp_path)

    assert places(report) == {"near_leaks": (1, ["test.csv:2"])}
    assert report["problems"][0]["examples"][0]["other_where"] == "train.csv:2"
    assert unknown.returncode == 2
    assert "did you mean `leaks`?" in unknown.stderr


def test_a_dataset_of_a_project_is_checked_by_its_key(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "people.csv").write_bytes(DIRTY)
    (tmp_path / "datasets" / "people.yaml").write_text(
        "key: people\ndisplay_name: People\nsource:\n  type: local\n  file_path: people.csv\n"
        "  columns: { age: int, joined: date }\n"
        "  filters: [{ op: not_equals, expression: '{{ mood }}', value: bad }]\n"
    )

    report = check(tmp_path, "people")

    found = places(report)
    file = "datasets/people.csv"
    assert report["rows"] == 3
    assert found["bad_rows"][0] == 4
    assert found["duplicate_rows"] == (1, [f"{file}:8"])
    details = [example["value"] for example in report["problems"][0]["examples"]]
    assert details[0] == "`joined`: expected a date such as `2026-03-01`, got `03/04/2026`"
    assert f"{file}:" in evalwright("dataset", "check", "people", cwd=tmp_path).stdout


def test_text_and_markdown_show_columns_and_problems(tmp_path: Path) -> None:
    (tmp_path / "dirty.csv").write_bytes(DIRTY)

    done = evalwright("dataset", "check", "dirty.csv", "--markdown", "out.md", cwd=tmp_path)
    missing = evalwright("dataset", "check", "dirt.csv", cwd=tmp_path)
    wrong = evalwright("dataset", "check", "dirty.xlsx", cwd=tmp_path)

    markdown = (tmp_path / "out.md").read_text("utf-8")
    assert markdown.startswith("# Check of dirty.csv\n\ndirty.csv: 5 rows, 5 columns, 9 problems\n")
    assert "| duplicate\\_ids | id | 2 | 40.0 % |" in markdown
    assert done.stdout.endswith("dirty.csv: 5 rows, 5 columns, 9 problems\n")
    assert "an…rg" in done.stdout
    assert "ana@example.org" not in done.stdout + markdown
    assert (missing.returncode, wrong.returncode) == (2, 2)
    assert "did you mean `dirty.csv`?" in missing.stderr
