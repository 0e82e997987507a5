from typing import Any

import pytest

from evalwright.plan.outline import PlanOutline, PrimaryMetric, TaskOutline
from evalwright.session.progress import Progress, RunningScores, SilentProgress
from evalwright.types import Outcome, Score


def test_nobody_has_to_watch() -> None:
    progress: Progress = SilentProgress()

    progress.begin(1, 0, None)
    progress.on_commit([])
    progress.tell("nothing")
    progress.end(interrupted=False)


def outcome(value: object, *, task: str = "a", model: str = "m") -> Outcome:
    scores = {"exact": Score(values={"ok": value})}
    return Outcome(task=task, model=model, sample_id="1", scores=scores)


def plan(*tasks: str, models: tuple[str, ...] = ("m",), trials: int = 1) -> PlanOutline:
    primary = PrimaryMetric(scorer="exact", field="ok", metric="mean")
    outlines = [
        TaskOutline(name=name, models=models, records=9, trials=trials, primary=primary)
        for name in tasks
    ]
    return PlanOutline(tasks=tuple(outlines), models=models)


def means(scores: RunningScores, *values: object) -> list[tuple[str, str]]:
    for value in values:
        scores.add(outcome(value))
    return list(scores.describe())


@pytest.mark.parametrize(
    ("values", "text"),
    [
        pytest.param([1, True, False, 1.0], "mean 0.75 [0.30, 0.95]", id="binary: Wilson"),
        pytest.param([0.5, None, "no", float("nan")], "mean 0.50 [0.05, 0.95]", id="numbers alone"),
        pytest.param([3, 4], "mean 3.50", id="outside [0, 1]: no interval"),
        pytest.param([], "", id="nothing yet"),
    ],
)
def test_the_running_score_is_the_mean_of_the_primary_score(values: list[Any], text: str) -> None:
    assert means(RunningScores(plan("a")), *values) == [("m", text)]


def test_several_trials_of_a_sample_have_no_interval() -> None:
    assert means(RunningScores(plan("a", trials=3)), 1, 0) == [("m", "mean 0.50")]


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param(RunningScores(plan("a", "b")), id="several tasks"),
        pytest.param(RunningScores(plan("a", models=("m", *"nopq"))), id="five models"),
        pytest.param(RunningScores(plan("a"), is_resumed=True), id="a resumed run"),
    ],
)
def test_only_a_number_that_the_report_will_have_is_shown(scores: RunningScores) -> None:
    assert means(scores, 1) == []
