"""Rows that go together: results of several models or trials on the same samples."""

from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, project

from evalwright.api.pooled import POOLED, pooled_in, without_intervals
from evalwright.engine.finish import Figure, Finished
from evalwright.engine.finishing import Agreement
from evalwright.metrics.measure import Measure
from evalwright.plan.documents import DocumentPlan, PlannedSpec
from evalwright.stats.interval import Interval
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


def pooled(folder: Path, dataset: str, source: dict[str, Any], **manifest: Any) -> bool:
    """Whether a task that reads the result of an earlier run has rows that go together."""
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
    plan = DocumentPlan(tasks=(PlannedSpec(name="rv", task_key="review"),), models=("",))
    store = MemoryStore()
    store.begin(
        Run(
            id="1",
            created="2026-01-01T00:00:00",
            updated="2026-01-01T00:00:00",
            status="finished",
            plan_key="k",
            manifest={"plan": {"tasks": [{"name": "earlier", **source}]}, **manifest},
        )
    )
    return pooled_in(made, specs, plan, store) == {"rv"}


BY_NAME, BY_DATASET = "{key: earlier, source: task_result}", "{key: answers}"


@pytest.mark.parametrize("dataset", [BY_NAME, BY_DATASET], ids=["by name", "by a dataset"])
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param({"models": ["a"], "trials": 2}, True, id="trials"),
        pytest.param({"models": ["a"], "repeats": 2}, True, id="runs"),
        pytest.param({"models": ["a", "b"]}, True, id="models"),
        pytest.param({"models": ["a"]}, False, id="each sample once"),
    ],
)
def test_what_an_earlier_run_has_made_is_known_by_its_manifest(
    tmp_path: Path, dataset: str, source: dict[str, Any], *, expected: bool
) -> None:
    assert pooled(tmp_path, dataset, source) is expected


def test_what_is_made_of_such_rows_goes_together_too(tmp_path: Path) -> None:
    assert pooled(tmp_path, BY_NAME, {"models": ["a"]}, **{POOLED: ["earlier"]})


def test_no_interval_is_left_of_figures_or_agreements() -> None:
    interval = Interval(0.1, 0.9, "wilson")
    measure = Measure("m", 0.5, interval, 4)
    agreement = Agreement(scorer="s", score="ok", mean=0.5, interval=interval, n=4, flaky=1)
    finished = Finished(
        figures=[Figure(scorer="s", metric="mean", measure=measure)], agreements=[agreement]
    )

    without_intervals(finished)

    assert finished.figures[0].measure.interval is None
    assert "on the same samples" in finished.figures[0].measure.reason
    assert finished.agreements[0].interval is None
