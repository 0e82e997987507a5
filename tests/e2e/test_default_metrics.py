"""A scorer in Python that says nothing about metrics: a warning, and the means of its scores."""

import json
from pathlib import Path

import pytest
from tests.e2e.in_process import evalwright
from tests.e2e.projects import run_file, task, write_project, write_rows

SPEC = "{key: ask, task_key: ask}"
ALL = """\
def compute_scores(samples):
    return [{"rank": number} for number, _ in enumerate(samples)]
"""
EACH = """\
def compute_scores(sample):
    late = sample["n"] * 2 if sample["n"] else None
    return {"ok": sample["n"] > 1, "size": sample["n"], "label": "x", "late": late}
"""


def write(folder: Path, snippet: str, kind: str = "python", more: str = "") -> Path:
    lines = "".join(f"        {line}\n" for line in snippet.strip().split("\n"))
    scorer = f"    - type: {kind}\n{more}      compute_scores_snippet: |\n{lines}"
    definition = f"  evaluated_entity_type: dataset\n  dataset: {{key: rows}}\n  scorers:\n{scorer}"
    write_rows(folder, [{"n": number} for number in range(4)])
    return write_project(folder, run=run_file(SPEC), tasks__ask=task(definition))


@pytest.mark.parametrize(
    ("kind", "snippet", "means"),
    [
        ("python", EACH, {"ok_mean": 0.5, "size_mean": 1.5, "late_mean": 4.0}),
        ("python_all_samples", ALL, {"rank_mean": 1.5}),
    ],
)
def test_the_means_of_its_scores_are_shown_as_default(
    tmp_path: Path, kind: str, snippet: str, means: dict[str, float]
) -> None:
    folder = write(tmp_path, snippet, kind)

    report = json.loads(evalwright("run", "run.yaml", "--json", cwd=folder).stdout)
    text = evalwright("run", "run.yaml", cwd=folder).stdout

    assert {row["metric"]: row["value"] for row in report["metrics"]} == means
    assert all(row["is_default"] and row["ci_low"] is not None for row in report["metrics"])
    assert all(f"{name} (default)" in text for name in means)
    assert "default: the scorer has no `metrics`" in text


def test_validate_warns_of_missing_metrics(tmp_path: Path) -> None:
    folder = write(tmp_path, EACH)

    done = evalwright("validate", ".", cwd=folder)

    assert done.returncode == 0
    said = done.stdout + done.stderr
    assert "tasks/ask.yaml:8: this `python` scorer has no `metrics`: the report shows" in said
    assert "list the metrics you want, or write `metrics: []`" in said


@pytest.mark.parametrize("more", ["      metrics: []\n", "      purpose: qa\n"])
def test_an_author_who_wants_no_metrics_gets_none(tmp_path: Path, more: str) -> None:
    folder = write(tmp_path, EACH, more=more)

    checked = evalwright("validate", ".", cwd=folder)
    report = json.loads(evalwright("run", "run.yaml", "--json", cwd=folder).stdout)

    assert "has no `metrics`" not in checked.stdout + checked.stderr
    assert report["metrics"] == []


def test_the_means_of_trials_are_shown_once_each(tmp_path: Path) -> None:
    folder = write(tmp_path, "def compute_scores(sample):\n    return {'ok': sample['n']}")
    specification = "{key: ask, task_key: ask, repeatability: {num_runs: 2}}"
    write_project(folder, run=run_file(specification))

    report = json.loads(evalwright("run", "run.yaml", "--json", cwd=folder).stdout)

    assert [(row["metric"], row["value"], row["n"]) for row in report["metrics"]] == [
        ("ok_mean", 1.5, 4)
    ]
    assert report["metrics"][0]["ci_low"] is not None
