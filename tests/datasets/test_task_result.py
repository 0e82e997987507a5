from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalwright.datasets.reading import LazyRows
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.datasets.task_result import COLUMNS, TaskResultSource
from evalwright.errors import UnknownName

ROW = {
    "sample": {"question": "2 + 2?"},
    "sample_id": "q1",
    "solver_output": {"items": []},
    "scores": {"equals": {"values": {"is_correct": True}, "metadata": {}}},
    "errors": [],
}


def stored() -> Iterator[dict[str, Any]]:
    yield ROW
    yield {**ROW, "sample_id": "q2"}


def source(key: str, **more: Any) -> TaskResultSource:
    return TaskResultSource.model_validate({"type": "task_result", "key": key, **more})


def test_the_rows_of_another_task_keep_their_ids() -> None:
    around = Surroundings(
        cache_dir=Path("unused"), task_results={"first": LazyRows(stored, header=COLUMNS)}
    )

    rows = source("first").rows(around)

    assert [name for name, _ in rows.identify()] == ["q1", "q2"]
    assert rows.columns == ("sample", "sample_id", "solver_output", "scores", "errors")


def test_a_filter_reaches_the_sample_in_the_row() -> None:
    around = Surroundings(
        cache_dir=Path("unused"), task_results={"first": LazyRows(stored, header=COLUMNS)}
    )
    one = {"op": "equals", "expression": "{{ sample.sample_id }}", "value": "q2"}
    other = {"op": "exists", "expression": "{{ sample.sample.question }}"}

    rows = source("first", filters=[one, other]).rows(around)

    assert [name for name, _ in rows.identify()] == ["q2"]


def test_a_result_may_be_found_by_asking() -> None:
    around = Surroundings(
        cache_dir=Path("unused"), task_results=lambda _: LazyRows(stored, header=COLUMNS)
    )

    assert source("anything").rows(around).check() == 2


def test_a_key_that_no_task_has_is_an_error() -> None:
    around = Surroundings(
        cache_dir=Path("unused"), task_results={"first": LazyRows(stored, header=COLUMNS)}
    )

    with pytest.raises(UnknownName, match="`frist`") as caught:
        source("frist").rows(around)

    assert caught.value.hint == "did you mean `first`?"
    with pytest.raises(UnknownName):
        source("first").rows(Surroundings(cache_dir=Path("unused")))


def test_the_digest_is_its_keepers_or_that_of_the_rows() -> None:
    assert LazyRows(stored, digest="of the run").digest == "of the run"
    assert LazyRows(stored, header=COLUMNS).digest == LazyRows(stored, header=COLUMNS).digest
    assert LazyRows(stored, header=COLUMNS).digest != LazyRows(lambda: iter([ROW])).digest


def test_a_result_can_be_read_without_a_document() -> None:
    assert Rows(LazyRows(stored, header=COLUMNS), name="first").check() == 2
