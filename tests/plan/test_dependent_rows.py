"""Rows that depend on each other: results of several models or trials on the same samples."""

from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, project

from evalwright.plan.manifest import VERSION, Manifest
from evalwright.plan.outline import PlanOutline, TaskOutline
from evalwright.plan.rows import result_sources
from evalwright.plan.task_results import dependent_tasks
from evalwright.store.memory import MemoryStore
from evalwright.types import Run

REVIEW = """
key: review
display_name: Review
description: D
definition:
  evaluated_entity_type: dataset
  dataset: %s
  scorers: [{type: string_equals, key: s, value: a, ground_truth: a}]
"""
ANSWERS = "key: answers\ndisplay_name: A\nsource: {type: task_result, key: earlier}\n"
RUN = """evaluation:
  key: whole
  display_name: Whole
  task_specifications: [{key: rv, task_key: review}]
"""


def has_dependent_rows(folder: Path, dataset: str, source: dict[str, Any], **manifest: Any) -> bool:
    """Whether a task that reads the result of an earlier run has rows that depend on each other."""
    files = {
        "tasks/t.yaml": TASK,
        "tasks/r.yaml": REVIEW % dataset,
        "datasets/d.yaml": DATASET,
        "datasets/a.yaml": ANSWERS,
        "models/m.yaml": MODEL,
        "run.yaml": RUN,
    }
    made = project(folder, files, "run.yaml")
    specs, problems = made.specs()
    assert [one for one in problems if one.level == "error"] == []
    earlier = PlanOutline(tasks=(TaskOutline(name="earlier", **source),), models=())
    store = MemoryStore()
    store.begin(
        Run(
            id="1",
            created="2026-01-01T00:00:00",
            updated="2026-01-01T00:00:00",
            status="finished",
            plan_key="k",
            manifest=Manifest(version=VERSION, plan=earlier, models={}, **manifest).to_builtins(),
        )
    )
    sources = {spec.key: result_sources(made, spec) for spec in specs}
    return dependent_tasks([[TaskOutline(name="rv", task_key="review")]], sources, store) == {"rv"}


BY_NAME, BY_DATASET = "{key: earlier, source: task_result}", "{key: answers}"


@pytest.mark.parametrize("dataset", [BY_NAME, BY_DATASET], ids=["by name", "by a dataset"])
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param({"models": ("a",), "trials": 2}, True, id="trials"),
        pytest.param({"models": ("a",), "repeats": 2}, True, id="runs"),
        pytest.param({"models": ("a", "b")}, True, id="models"),
        pytest.param({"models": ("a",)}, False, id="each sample once"),
    ],
)
def test_what_an_earlier_run_has_made_is_known_by_its_manifest(
    tmp_path: Path, dataset: str, source: dict[str, Any], *, expected: bool
) -> None:
    assert has_dependent_rows(tmp_path, dataset, source) is expected


def test_what_is_made_of_such_rows_depends_on_each_other_too(tmp_path: Path) -> None:
    assert has_dependent_rows(tmp_path, BY_NAME, {"models": ("a",)}, dependent_tasks=("earlier",))
