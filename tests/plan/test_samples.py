from collections.abc import Iterator
from typing import Any

from evalwright.plan.samples import NoRows, RowSamples, first_ml_task


class Three:
    digest = "three"

    def identify(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return ((f"row-{n}", {"n": n}) for n in range(3))


def test_rows_become_samples_with_their_ids() -> None:
    planned = list(RowSamples(rows=Three(), places=[0, 2], trials=4, group="g").planned_samples())

    assert [(one.sample.id, one.sample.data) for one in planned] == [
        ("row-0", {"n": 0}),
        ("row-2", {"n": 2}),
    ]
    assert {(one.trials, one.group) for one in planned} == {(4, "g")}


def test_samples_can_be_read_more_than_once() -> None:
    samples = RowSamples(rows=Three(), places=range(3))

    assert list(samples.planned_samples()) == list(samples.planned_samples())


def test_a_task_without_data_has_one_empty_sample() -> None:
    (planned,) = RowSamples(rows=NoRows(), places=range(1)).planned_samples()

    assert planned.sample.data == {}


def test_a_task_that_names_nothing_is_a_chat() -> None:
    assert first_ml_task([]) == "chat_completion"
    assert first_ml_task(["embeddings", "custom"]) == "embeddings"
