"""A project becomes a plan: what it has, what the command changes, what is refused."""

from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, written

from evalwright.errors import BadTasks, UsageError
from evalwright.plan.options import parse_options
from evalwright.plan.outline import PrimaryMetric
from evalwright.plan.plan import Plan
from evalwright.plan.project import ResolvedProject, compile_project, resolve_project
from evalwright.store.memory import MemoryStore

FANS_OUT = TASK.replace(
    "    type: single_turn_solver\n",
    "    type: single_turn_solver\n    postprocessor: {type: python, postprocess_snippet: "
    '"def postprocess(sample, solver_output): return []"}\n',
)
SYSTEM = """
key: capitals
display_name: Capitals
description: D
definition:
  type: system_task
  compute_evidence_snippet: "def compute_evidence(): return {}"
"""
RUN = """evaluation:
  key: whole
  display_name: Whole
  task_specifications: [{key: a, task_key: capitals%s}]
"""


def files(task: str, more: str = ", model_key: bot", **other: str) -> dict[str, str]:
    return {
        "tasks/t.yaml": task,
        "datasets/d.yaml": DATASET,
        "models/m.yaml": MODEL,
        "run.yaml": RUN % more,
        **other,
    }


def resolved(
    folder: Path, task: str, more: str = ", model_key: bot", **options: Any
) -> tuple[ResolvedProject, list[str]]:
    """The project, and what was said about it."""
    told: list[str] = []
    path = written(folder, files(task, more)) / "run.yaml"
    found = resolve_project(str(path), (), parse_options(options), tell=told.append)
    return found, told


def compiled(
    folder: Path, task: str = TASK, more: str = ", model_key: bot", **options: Any
) -> Plan:
    project, _ = resolved(folder, task, more, **options)
    return compile_project(project, parse_options(options), store=MemoryStore())


@pytest.mark.parametrize("name", ["trials", "samples"])
def test_the_command_line_wins_over_the_documents(tmp_path: Path, name: str) -> None:
    four = ", model_key: bot, trials: {num_trials: 4}"

    by_document, by_command = (
        compiled(tmp_path, TASK, four),
        compiled(tmp_path, TASK, four, **{name: 2}),
    )

    assert [task.outline.trials for task in by_document.tasks] == [4]
    assert [task.outline.trials for task in by_command.tasks] == [2]
    assert (by_document.trials, by_command.trials) == (None, 2)


@pytest.mark.parametrize(
    ("task", "more", "why"),
    [
        pytest.param(FANS_OUT, ", model_key: bot", "has a postprocessor", id="a postprocessor"),
        pytest.param(SYSTEM, "", "is a system task", id="a system task"),
    ],
)
def test_a_task_whose_samples_cannot_be_tried_several_times_is_named(
    tmp_path: Path, task: str, more: str, why: str
) -> None:
    _, told = resolved(tmp_path, task, more, trials=3)
    plan = compiled(tmp_path, task, more, trials=3)

    (warning,), (note,) = told, plan.notes
    assert note.startswith(f"a: one trial per sample: the task {why}")
    assert warning == f"warning: {note}"


@pytest.mark.parametrize(
    ("task", "trials"),
    [
        pytest.param(TASK, 3, id="it can be tried as often as asked"),
        pytest.param(FANS_OUT, 1, id="once was asked for"),
        pytest.param(FANS_OUT, None, id="nothing was asked for"),
    ],
)
def test_nothing_is_said_where_every_sample_is_tried_as_often_as_it_should_be(
    tmp_path: Path, task: str, trials: int | None
) -> None:
    _, told = resolved(tmp_path, task, trials=trials)

    assert (told, compiled(tmp_path, task, trials=trials).notes) == ([], ())


def test_a_project_is_one_task_plan_per_specification(tmp_path: Path) -> None:
    plan = compiled(tmp_path)

    (task,) = plan.tasks
    assert (task.name, task.outline.task_key, task.outline.kind) == ("a", "capitals", "model")
    assert (task.outline.records, task.outline.models) == (1, ("bot",))
    assert (plan.models, plan.evaluation, plan.ranking) == (("bot",), "whole", "per_task")
    assert list(task.runtime.scorers) == ["string_equals"]
    assert task.outline.finalized
    assert task.outline.primary == PrimaryMetric(
        scorer="string_equals", field="is_correct", metric="is_correct_mean"
    )


def test_tasks_with_the_same_samples_have_the_same_digest_of_samples(tmp_path: Path) -> None:
    other = TASK.replace("Who knows", "Who else knows").replace("sample.capital", "sample.country")
    (first,) = compiled(tmp_path / "one").tasks
    (second,) = compiled(tmp_path / "two", other).tasks

    assert first.outline.samples_digest == second.outline.samples_digest != ""
    assert first.outline.digest != second.outline.digest


def test_what_people_read_does_not_change_the_digest_of_a_task(tmp_path: Path) -> None:
    renamed = TASK.replace("display_name: Capitals", "display_name: Cities")
    (first,) = compiled(tmp_path / "one").tasks
    (second,) = compiled(tmp_path / "two", renamed).tasks

    assert first.outline.digest == second.outline.digest
    assert first.outline.display_name != second.outline.display_name


def test_models_that_are_given_take_the_place_of_those_in_the_project(tmp_path: Path) -> None:
    path = str(written(tmp_path, files(TASK)) / "run.yaml")
    options = parse_options({})
    project = resolve_project(path, ("scripted/oracle", "scripted/echo"), options)

    plan = compile_project(project, options, store=MemoryStore())

    assert plan.models == ("scripted/oracle", "scripted/echo")
    assert plan.outline.total == 2


def test_every_error_is_named_before_anything_is_run(tmp_path: Path) -> None:
    with pytest.raises(BadTasks, match=r"1 error; nothing was run: .*run\.yaml:4") as refused:
        resolved(tmp_path, TASK, ", model_key: bto")

    assert "`evalwright validate" in refused.value.hint


def test_snippets_can_be_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which `--no-snippets` does not allow"):
        resolved(tmp_path, SYSTEM, "", no_snippets=True)


def test_what_trials_are_aggregated_to_is_measured_by_default(tmp_path: Path) -> None:
    several = TASK.replace(
        "definition:\n",
        "definition:\n  trials:\n    num_trials: 2\n    score_aggregators:\n"
        "      - {score_name: is_correct, aggregator: {function: pass@k, k: 2}}\n",
    )

    (task,) = compiled(tmp_path, several).tasks

    assert task.finalization is not None
    metrics = dict(task.finalization.measured["string_equals"].metrics)
    assert list(metrics) == ["mean_is_correct", "mean_pass@2"]
    trials = task.finalization.trials
    assert trials is not None
    assert (trials.trials, trials.repeats) == (2, 1)
    (aggregate,) = trials.aggregates
    assert (aggregate.score, aggregate.function, aggregate.k) == ("is_correct", "pass@k", 2)
