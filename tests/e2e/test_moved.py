"""`evalwright score` says what moved against the run whose outputs it scores again."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.in_process import evalwright
from tests.e2e.projects import of_rows, run_file, scorer, write_project, write_rows

DEF = "def compute_scores(sample):\n    "
EQUAL = DEF + 'return {"ok": sample["answer"] == sample["target"]}'
SIMPLER = "{key: ask, task_key: ask}"


def write_records(folder: Path, *targets: str) -> None:
    lines = [
        {
            "task_id": f"t{number}",
            "category": "arithmetic",
            "prompt": f"Sum {number}:",
            "targets": [target],
            "metric_name": "exact_match",
            "post_process": "none",
        }
        for number, target in enumerate(targets)
    ]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def run_records(folder: Path, *targets: str) -> None:
    """Run records whose answers are all `1`."""
    write_records(folder, *targets)
    answers = [{"id": f"t{number}", "output": "1"} for number in range(len(targets))]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in answers))
    done = evalwright("run", "tasks.jsonl", "-m", "replay/outputs.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr


def write_rows_project(folder: Path, *targets: str, snippet: str = EQUAL, more: str = "") -> None:
    write_rows(folder, ({"answer": "1", "target": target} for target in targets))
    run = "evaluation:\n" + run_file(SIMPLER).partition("evaluation:\n")[2]
    write_project(folder, tasks__ask=of_rows(snippet, more), run=run)


def run_project(folder: Path, *targets: str) -> None:
    write_rows_project(folder, *targets)
    done = evalwright("run", "run.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr


def moved(folder: Path) -> dict[str, Any]:
    scored = evalwright("score", "latest", "--json", cwd=folder)
    answer: dict[str, Any] = json.loads(scored.stdout)["moved"]
    return answer


def test_a_corrected_target_of_a_record_moves_its_score(tmp_path: Path) -> None:
    run_records(tmp_path, "1", "2", "3", "4", "5", "6", "7", "8")
    write_records(tmp_path, "9", "1", "1", "1", "1", "1", "1", "8")

    answer = moved(tmp_path)

    (row,) = answer["metrics"]
    assert (row["scorer"], row["metric"]) == ("record", "mean")
    assert (row["before"], row["after"], row["difference"]) == (0.125, 0.75, 0.625)
    assert (row["up"], row["down"], row["mixed"], row["unmatched"]) == (6, 1, 0, 0)
    assert answer["changed"] == 7
    assert [sample["sample_id"] for sample in answer["samples"]] == ["t0", "t1", "t2", "t3", "t4"]
    assert answer["samples"][0]["before"] == {"score": 1.0}
    assert answer["samples"][0]["after"] == {"score": 0.0}
    # The same again is the same run, and its report says the same.
    text = evalwright("score", answer["parent"], "--markdown", "out.md", cwd=tmp_path)
    run_id = json.loads(evalwright("report", "--json", cwd=tmp_path).stdout)["run_id"]
    for shown in (text.stdout, (tmp_path / "out.md").read_text()):
        assert f"Changes since {answer['parent']}" in shown
        assert "+0.625" in shown
        assert "the first 5; 7 samples changed" in shown
    assert f"`evalwright show {run_id} --changed` shows all" in text.stdout
    listed = evalwright("show", run_id, "--changed", "--json", cwd=tmp_path)
    assert len(json.loads(listed.stdout)) == 7


def test_a_corrected_target_of_a_project_moves_its_score(tmp_path: Path) -> None:
    run_project(tmp_path, "1", "2")
    write_rows_project(tmp_path, "1", "1", "1")

    scored = evalwright("score", "latest", cwd=tmp_path)
    answer = json.loads(evalwright("report", "latest", "--json", cwd=tmp_path).stdout)["moved"]

    (row,) = answer["metrics"]
    assert (row["before"], row["after"], row["difference"]) == (0.5, 1.0, 0.5)
    assert (row["up"], row["down"], row["unmatched"]) == (1, 0, 1)
    assert [sample["sample_id"] for sample in answer["samples"]] == ["1"]
    assert "unmatched: samples that are in only one of the runs" in scored.stdout
    assert "false" in scored.stdout.partition("Changed scores")[2]


def test_a_scorer_that_is_added_has_no_earlier_value(tmp_path: Path) -> None:
    run_project(tmp_path, "1", "2")
    write_rows_project(tmp_path, "1", "2", more=scorer(DEF + 'return {"ok": 1}', key="other"))

    answer = moved(tmp_path)
    text = evalwright("report", "latest", cwd=tmp_path).stdout

    rows = {row["scorer"]: row for row in answer["metrics"]}
    assert (rows["other"]["before"], rows["other"]["after"]) == (None, 1.0)
    assert rows["other"]["difference"] is None
    assert (rows["judged"]["difference"], answer["changed"]) == (0.0, 0)
    assert "new" in text.partition("Changes since")[2]
    assert "1 metric did not change" in text


def test_a_sample_that_fails_now_or_no_longer_is_counted(tmp_path: Path) -> None:
    fails = DEF + 'return {"ok": 1 // (int(sample["target"]) - %d)}'
    write_rows_project(tmp_path, "3", "4", "5", snippet=fails % 4)
    evalwright("run", "run.yaml", cwd=tmp_path)
    write_rows_project(tmp_path, "3", "4", "5", snippet=fails % 5)

    (row,) = moved(tmp_path)["metrics"]

    assert (row["recovered"], row["newly_failed"], row["up"] + row["down"]) == (1, 1, 0)


@pytest.mark.parametrize("run", [run_records, run_project])
def test_a_run_in_which_nothing_moved_says_so(run: Any, tmp_path: Path) -> None:
    run(tmp_path, "1", "2")

    scored = evalwright("score", "latest", cwd=tmp_path)

    assert "No score changed" in scored.stdout
    assert "Changes since" not in scored.stdout


@pytest.mark.parametrize("run", [run_records, run_project])
def test_the_report_of_a_run_whose_parent_was_deleted_says_so(run: Any, tmp_path: Path) -> None:
    run(tmp_path, "1", "2")
    parent = moved(tmp_path)["parent"]
    assert evalwright("delete", parent, "--yes", cwd=tmp_path).returncode == 0

    shown = evalwright("report", "latest", cwd=tmp_path)
    listed = evalwright("show", "latest", "--changed", cwd=tmp_path)

    assert f"run {parent}, whose outputs were scored again, was deleted" in shown.stdout
    assert shown.returncode == 0
    assert "Traceback" not in shown.stdout + shown.stderr + listed.stderr
    assert f"there is no run `{parent}`" in listed.stderr


def test_a_run_without_parent_has_nothing_that_moved(tmp_path: Path) -> None:
    run_records(tmp_path, "1")

    report = json.loads(evalwright("report", "latest", "--json", cwd=tmp_path).stdout)
    listed = evalwright("show", "latest", "--changed", cwd=tmp_path)

    assert report["moved"] is None
    assert listed.returncode == 2
    assert "has no parent" in listed.stderr
