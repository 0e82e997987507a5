from collections.abc import Iterator
from typing import Any

import pytest

from evalwright.errors import UsageError
from evalwright.plan.outline import TaskOutline
from evalwright.plan.plan import Plan, TaskPlan, TaskRuntime
from evalwright.plan.samples import RowSamples


class Three:
    digest = "three"

    def identify(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return ((f"row-{n}", {"n": n}) for n in range(3))


def task(
    name: str, *, places: Any = range(2), others: dict[str, str] | None = None, **fields: Any
) -> TaskPlan:
    outline = TaskOutline(name=name, records=len(places), **fields)
    return TaskPlan(
        outline=outline,
        samples=RowSamples(rows=Three(), places=places, trials=outline.tries, group="model"),
        runtime=TaskRuntime(other_models=others or {}),
    )


def plan(*tasks: TaskPlan) -> Plan:
    return Plan(tasks=tasks, models=("m",))


def test_jobs_go_sample_by_sample_through_all_models() -> None:
    jobs = list(task("a", models=("x", "y")).jobs())

    assert [(job.sample.id, job.model, job.ordinal) for job in jobs] == [
        ("row-0", "x", 0),
        ("row-0", "y", 0),
        ("row-1", "x", 1),
        ("row-1", "y", 1),
    ]
    assert jobs[0].sample.data == {"n": 0}
    assert {(job.task, job.group) for job in jobs} == {("a", "model")}


def test_all_trials_of_a_sample_come_before_the_next_sample() -> None:
    several = task("a", trials=2, repeats=2, models=("x", "y"))

    jobs = [(job.ordinal, job.trial, job.model) for job in several.jobs()]

    assert jobs[:4] == [(0, 0, "x"), (0, 0, "y"), (0, 1, "x"), (0, 1, "y")]
    assert jobs[7:9] == [(0, 3, "y"), (1, 0, "x")]
    assert len(jobs) == several.outline.jobs * 2


def test_the_ordinal_counts_the_samples_that_are_used() -> None:
    jobs = list(task("a", places=[0, 2]).jobs())

    assert [(job.sample.id, job.ordinal) for job in jobs] == [("row-0", 0), ("row-2", 1)]


def test_a_task_comes_after_the_one_whose_results_it_reads() -> None:
    waves = plan(task("c", after="b"), task("b", after="a"), task("a"), task("d")).waves()

    assert [[one.name for one in wave] for wave in waves] == [["a", "d"], ["b"], ["c"]]


def test_results_of_another_run_are_waited_for_by_nobody() -> None:
    assert len(plan(task("a", after="elsewhere")).waves()) == 1


def test_results_that_wait_for_each_other_are_an_error() -> None:
    with pytest.raises(UsageError, match="circular dependency between task results: `a`, `b`"):
        plan(task("a", after="b"), task("b", after="a")).waves()


def test_models_that_components_ask_are_named_once() -> None:
    first = task("a", others={"judge": "openai/judge", "user": "openai/user"})
    second = task("b", others={"critic": "openai/judge"})

    assert plan(first, second).other_models == ("openai/judge", "openai/user")


def test_an_outline_has_every_task_and_what_the_command_asked_for() -> None:
    whole = Plan(
        tasks=(task("a"), task("b")),
        models=("m",),
        path="run.yaml",
        evaluation="e",
        limit=3,
        trials=2,
    )

    outline = whole.outline
    assert [one.name for one in outline.tasks] == ["a", "b"]
    assert (outline.models, outline.path, outline.evaluation) == (("m",), "run.yaml", "e")
    assert (outline.limit, outline.trials, outline.ranking) == (3, 2, "per_task")
