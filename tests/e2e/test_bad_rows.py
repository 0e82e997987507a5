"""`columns`, `on_bad_rows` and `records` in a project: validated, run, tried and reported."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.in_process import evalwright

MEMBERS = (
    "\ufeffid,name,age,joined\n"
    '1,"Ana\nMaria",41,2026-03-01\n'
    "2,Bo,forty,2026-03-02\n"
    "3,سارة,39,03/04/2026\n"
    "4,Dee,38\n"
    "5,Flo,64,2026-03-07\n"
).encode() + b"6,Ren\xe9,33,2026-03-08\n"  # fmt: skip
TASK = """
key: ages
display_name: Ages
description: Who is over 40.
definition:
  scorers:
    - type: python
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"is_over_40": sample["age"] > 40}
      metrics: [{ type: mean, field: is_over_40, name: Over 40 }]
"""
RUN = """
datasets: [{ $ref: datasets/members.yaml }]
tasks: [{ $ref: tasks/ages.yaml }]
evaluation:
  key: members
  display_name: Members
  task_specifications: [{ task_key: ages, dataset_key: members }]
"""
BAD_LINES = [4, 5, 6, 8]


def project(folder: Path, policy: str, members: bytes = MEMBERS) -> Path:
    for name in ("tasks", "datasets"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "tasks" / "ages.yaml").write_text(TASK)
    (folder / "run.yaml").write_text(RUN)
    (folder / "datasets" / "members.csv").write_bytes(members)
    (folder / "datasets" / "members.yaml").write_text(
        "key: members\ndisplay_name: Members\nsource:\n  type: local\n  file_path: members.csv\n"
        f"  columns: {{ age: int, joined: date }}\n  on_bad_rows: {policy}\n"
    )
    return folder


def run(folder: Path, code: int = 0) -> dict[str, Any]:
    done = evalwright("run", "run.yaml", "--json", cwd=folder)
    assert done.returncode == code, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_excluded_rows_are_counted_wherever_the_dataset_is_used(tmp_path: Path) -> None:
    folder = project(tmp_path, "exclude")

    checked = evalwright("validate", ".", cwd=folder)
    read = evalwright("dataset", "test", "members", "--json", cwd=folder)
    tried = evalwright("task", "test", "ages", "-n", "5", cwd=folder)
    report = run(folder)
    text = evalwright("report", cwd=folder)
    again = run(folder)

    assert checked.returncode == 0
    assert "4 bad rows will be left out; the first: datasets/members.csv:4: `age`" in checked.stderr
    preview = json.loads(read.stdout)
    assert (preview["rows"], preview["excluded"], preview["kept"]) == (2, 4, 0)
    assert [bad["line"] for bad in preview["bad_rows"]] == BAD_LINES
    assert tried.returncode == 0
    assert "4 excluded" in tried.stdout
    (metric,) = report["metrics"]
    assert (metric["value"], metric["n"], metric["excluded"]) == (1, 2, 4)
    assert (report["summary"]["excluded"], report["summary"]["excluded_rows"]) == (4, 4)
    assert [row["line"] for row in report["left_out"]] == BAD_LINES
    assert {row["file"] for row in report["left_out"]} == {"datasets/members.csv"}
    assert "4 bad rows excluded" in text.stdout
    assert "datasets/members.csv:8" in text.stdout
    assert again["summary"]["reused"] == 2


def test_bad_rows_stop_a_run_before_it_starts_unless_the_policy_says_otherwise(
    tmp_path: Path,
) -> None:
    folder = project(tmp_path, "fail", MEMBERS.replace(b"4,Dee,38\n", b"")[:-22])

    checked = evalwright("validate", ".", cwd=folder)
    done = evalwright("run", "run.yaml", cwd=folder)

    expected = "members.csv:4: `age`: expected an integer, got `forty`; also line 5; 2 of 4 rows do"
    assert (checked.returncode, done.returncode) == (1, 1)
    assert expected in checked.stdout
    assert expected in done.stderr


def test_kept_rows_are_used_and_noted(tmp_path: Path) -> None:
    folder = project(tmp_path, "keep", MEMBERS.replace(b"4,Dee,38\n", b"")[:-22])

    report = run(folder, code=3)

    assert (report["summary"]["completed"], report["summary"]["failed"]) == (3, 1)
    assert report["summary"]["excluded_rows"] == 0
    assert any("2 rows with values that do not fit their types were kept" in note
               for note in report["notes"])  # fmt: skip


def test_of_many_bad_rows_the_first_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"{n},x,old,2026-03-01\n" for n in range(1000))
    folder = project(tmp_path, "exclude", f"id,name,age,joined\n0,x,50,\n{rows}".encode())

    report = run(folder)

    assert report["summary"]["excluded_rows"] == 1000
    assert [row["line"] for row in report["left_out"]] == list(range(3, 103))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("columns: { age: integer }", "did you mean `int`?", id="type"),
        pytest.param("on_bad_rows: skip", "`fail`, `exclude`, `keep`", id="policy"),
        pytest.param("records: '$[*]'", "`records` is for .json and .jsonl files", id="records"),
        pytest.param("columns: { agee: int }", "did you mean `age`?", id="column"),
    ],
)
def test_mistakes_in_the_options_are_found_by_validate(
    tmp_path: Path, line: str, message: str
) -> None:
    folder = project(tmp_path, "exclude", b"id,name,age,joined\n1,Ana,41,\n")
    document = folder / "datasets" / "members.yaml"
    text = document.read_text().partition("  columns")[0]
    document.write_text(f"{text}  {line}\n")

    done = evalwright("validate", ".", cwd=folder)

    assert done.returncode == 1
    assert message in done.stdout
