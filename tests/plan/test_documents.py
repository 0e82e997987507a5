from collections.abc import Iterator
from typing import Any

import pytest

from evalwright.errors import UsageError
from evalwright.plan.documents import Data, DocumentPlan, NoRows, PlannedSpec, jobs_of, ml_task_of


class Three:
    digest = "three"

    def identified(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return ((f"row-{n}", {"n": n}) for n in range(3))


def spec(name: str, **fields: Any) -> PlannedSpec:
    return PlannedSpec(name=name, task_key=name, **fields)


def plan(*specs: PlannedSpec) -> DocumentPlan:
    return DocumentPlan(tasks=specs, models=("m",))


def test_a_plan_counts_samples_times_models() -> None:
    whole = plan(spec("a", records=3, models=("x", "y")), spec("b", records=5))

    assert whole.total == 11


def test_jobs_go_sample_by_sample_through_all_models() -> None:
    task = spec("a", records=2, models=("x", "y"), kind="model")
    data = {"a": Data(rows=Three(), places=range(2))}

    jobs = list(jobs_of([task], data))

    assert [(job.sample.id, job.model, job.ordinal) for job in jobs] == [
        ("row-0", "x", 0),
        ("row-0", "y", 0),
        ("row-1", "x", 1),
        ("row-1", "y", 1),
    ]
    assert jobs[0].sample.data == {"n": 0}


def test_a_plan_counts_trials_and_runs() -> None:
    task = spec("a", records=3, trials=4, repeats=2, models=("x", "y"))

    assert (task.tries, task.jobs, plan(task, spec("b", records=5)).total) == (8, 24, 53)


def test_all_trials_of_a_sample_come_before_the_next_sample() -> None:
    data = {"a": Data(rows=Three(), places=range(2))}
    task = spec("a", records=2, trials=2, repeats=2, models=("x", "y"))

    jobs = [(job.ordinal, job.trial, job.model) for job in jobs_of([task], data)]

    assert jobs[:4] == [(0, 0, "x"), (0, 0, "y"), (0, 1, "x"), (0, 1, "y")]
    assert jobs[7:9] == [(0, 3, "y"), (1, 0, "x")]
    assert len(jobs) == task.jobs * 2


def test_the_ordinal_counts_the_samples_that_are_used() -> None:
    data = {"a": Data(rows=Three(), places=[0, 2])}

    jobs = list(jobs_of([spec("a", records=2)], data))

    assert [(job.sample.id, job.ordinal) for job in jobs] == [("row-0", 0), ("row-2", 1)]


def test_a_task_without_data_has_one_empty_sample() -> None:
    (sample,) = Data(rows=NoRows(), places=range(1)).samples()

    assert sample.data == {}


def test_a_specification_comes_after_the_one_whose_results_it_reads() -> None:
    waves = plan(spec("c", after="b"), spec("b", after="a"), spec("a"), spec("d")).waves()

    assert [[one.name for one in wave] for wave in waves] == [["a", "d"], ["b"], ["c"]]


def test_results_of_another_run_are_waited_for_by_nobody() -> None:
    assert len(plan(spec("a", after="elsewhere")).waves()) == 1


def test_results_that_wait_for_each_other_are_an_error() -> None:
    with pytest.raises(UsageError, match="wait for each other: `a`, `b`"):
        plan(spec("a", after="b"), spec("b", after="a")).waves()


def test_a_task_that_names_nothing_is_a_chat() -> None:
    assert ml_task_of([]) == "chat_completion"
    assert ml_task_of(["embeddings", "custom"]) == "embeddings"
