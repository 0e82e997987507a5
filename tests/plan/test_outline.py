from typing import Any

import pytest

from evalwright.plan.outline import PlanOutline, TaskOutline


def outline(name: str, **fields: Any) -> TaskOutline:
    return TaskOutline(name=name, task_key=name, **fields)


def whole(*tasks: TaskOutline, **fields: Any) -> PlanOutline:
    return PlanOutline(tasks=tasks, models=("m",), **fields)


def test_a_plan_counts_samples_times_models() -> None:
    plan = whole(outline("a", records=3, models=("x", "y")), outline("b", records=5))

    assert plan.total == 11


def test_a_plan_counts_trials_and_repeats() -> None:
    task = outline("a", records=3, trials=4, repeats=2, models=("x", "y"))

    assert (task.tries, task.jobs, whole(task, outline("b", records=5)).total) == (8, 24, 53)


def test_samples_that_are_tried_differently_often_are_counted_one_by_one() -> None:
    task = outline("a", records=3, trials=5, trial_counts=((2, 5), (1, 1)), models=("x", "y"))

    assert (task.jobs, whole(task).total) == (11, 22)


def test_an_imported_result_has_as_many_outcomes_as_its_log() -> None:
    assert outline("a", records=3, trials=4, landed=7).jobs == 7


@pytest.mark.parametrize(
    ("fields", "noun"),
    [
        pytest.param({}, "samples", id="each once"),
        pytest.param({"trials": 2}, "trials", id="several trials"),
        pytest.param({"repeats": 2}, "trials", id="several runs"),
    ],
)
def test_what_is_counted_is_called(fields: dict[str, Any], noun: str) -> None:
    assert whole(outline("a", records=1), outline("b", records=1, **fields)).noun == noun


def test_a_plan_was_compiled_from_a_project_or_from_the_files_of_its_tasks() -> None:
    files = whole(outline("a", path="x/a.jsonl"), outline("b", path="x/b.jsonl"))
    project = whole(outline("a"), outline("b"), path="run.yaml")

    assert files.sources == ["x/a.jsonl", "x/b.jsonl"]
    assert project.sources == ["run.yaml"]


def test_a_task_is_found_by_its_name() -> None:
    plan = whole(outline("a"), outline("b"))

    assert plan.task("b") == plan.tasks[1]
    assert plan.task("c") is None
