from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from evalwright.datasets.reading import LazyRows
from evalwright.datasets.rows import Rows
from evalwright.datasets.synthesizers.data_sources import (
    AnyDataSource,
    SourceLookup,
    SourceRows,
    number_ids,
)
from evalwright.datasets.task_result import COLUMNS
from evalwright.errors import BadDataset

SOURCES: TypeAdapter[Any] = TypeAdapter(AnyDataSource)
CITIES = [{"city": "Bonn"}, {"city": "Rom"}, {"city": "Oslo"}]
DATASETS = {"cities": CITIES, "styles": [{"style": "short"}, {"style": "long"}]}


def taken(
    fields: Mapping[str, Any],
    count: int | None = None,
    *,
    datasets: Mapping[str, list[dict[str, Any]]] = DATASETS,
    result: list[dict[str, Any]] | None = None,
    wanted: int | None = None,
) -> SourceRows:
    lookup = SourceLookup(
        dataset=lambda key: Rows(LazyRows(lambda: iter(datasets[key])), name=key),
        result=lambda _: LazyRows(lambda: iter(result or ()), header=COLUMNS),
    )
    source = SOURCES.validate_python(fields)
    found: SourceRows = source.select_rows(lookup, count)
    return found if wanted is None else source.select_pass(lookup, wanted)


def rows(fields: Mapping[str, Any], count: int | None = None, **more: Any) -> list[Any]:
    found = taken(fields, count, **more)
    made = list(found.rows())
    assert len(made) == found.total
    assert made == list(found.rows()), "they can be read again"
    return made


def test_empty_rows_are_as_many_as_the_source_or_the_dataset_says() -> None:
    assert rows({"type": "empty", "num_samples": 2}) == [{}, {}]
    assert rows({"type": "empty", "num_samples": 2}, 3) == [{}, {}, {}]
    assert rows({"type": "empty"}) == [{}]


def test_inline_rows_are_those_of_the_document() -> None:
    fields = {"type": "inline_samples", "samples": CITIES}

    assert rows(fields) == CITIES
    assert rows(fields, 2) == CITIES[:2]
    assert rows(fields, 4) == [*CITIES, CITIES[0]]
    assert taken(fields).columns == frozenset({"city"})


def test_rows_of_a_dataset_are_drawn_by_the_seed() -> None:
    fields = {"type": "dataset_samples", "key": "cities"}

    assert rows(fields) == CITIES
    assert rows(fields, 2) == CITIES[:2]
    assert rows({**fields, "random_seed": 1}, 2) == [CITIES[0], CITIES[2]]
    assert taken(fields).columns == frozenset({"city"})


def test_a_row_that_is_used_again_is_called_otherwise() -> None:
    named = {"cities": [{"sample_id": "a"}, {"sample_id": 2}]}

    found = rows({"type": "dataset_samples", "key": "cities"}, 5, datasets=named)

    assert [one["sample_id"] for one in found] == ["a", 2, "a~2", "2~2", "a~3"]


def test_combinations_have_a_column_for_each_dataset() -> None:
    fields = {"type": "dataset_sample_combinations", "keys": ["cities", "styles"]}

    found = rows(fields)

    assert len(found) == 6
    assert found[1] == {"cities": {"city": "Bonn"}, "styles": {"style": "long"}}
    assert rows(fields, 2) == found[:2]
    assert len(rows({**fields, "random_seed": 1}, 4)) == 4
    assert taken(fields).columns == frozenset({"cities", "styles"})


def test_more_combinations_than_there_are_is_an_error() -> None:
    with pytest.raises(BadDataset, match="7 combinations were requested, but only 6 exist"):
        taken({"type": "dataset_sample_combinations", "keys": ["cities", "styles"]}, 7)


def test_a_pass_has_combinations_with_the_columns_of_all_datasets() -> None:
    fields = {"type": "dataset_sample_combinations", "keys": ["cities", "styles"]}

    found = taken(fields, wanted=4)

    assert list(found.rows())[1] == {"city": "Bonn", "style": "long"}
    assert (found.total, taken(fields, wanted=99).total) == (4, 6)
    assert found.columns == frozenset({"city", "style"})
    assert found.notes == ()


def test_a_column_of_two_datasets_has_the_value_of_the_last_and_ids_are_joined() -> None:
    named: dict[str, list[dict[str, Any]]] = {
        "cities": [{"sample_id": "b", "name": "Bonn"}],
        "styles": [{"sample_id": 1, "name": "short"}, {"sample_id": 2, "name": "long"}],
    }
    fields = {"type": "dataset_sample_combinations", "keys": ["cities", "styles"]}

    found = taken(fields, wanted=2, datasets=named)

    assert list(found.rows()) == [
        {"sample_id": "b-1", "name": "short"},
        {"sample_id": "b-2", "name": "long"},
    ]
    assert "have a column `name`" in found.notes[0]


def test_an_id_that_only_one_dataset_has_is_not_that_of_the_combination() -> None:
    named = {"cities": [{"sample_id": "b"}], "styles": [{"style": "short"}]}
    fields = {"type": "dataset_sample_combinations", "keys": ["cities", "styles"]}

    assert list(taken(fields, wanted=1, datasets=named).rows()) == [{"style": "short"}]


def test_a_pass_with_a_seed_has_all_rows_in_an_order_of_its_own() -> None:
    numbers = {"cities": [{"n": number} for number in range(3000)]}
    fields = {"type": "dataset_samples", "key": "cities", "random_seed": 7}

    found = [row["n"] for row in taken(fields, wanted=5, datasets=numbers).rows()]

    assert sorted(found) == list(range(3000))
    assert found != sorted(found)
    drawn = rows(fields, 5, datasets=numbers)
    assert {row["n"] for row in drawn} == {*found[:5]}, "the earlier draw takes the first of them"


def test_the_result_of_a_task_is_its_samples() -> None:
    fields = {"type": "task_result", "key": "first", "ai_app_key": "theirs"}

    assert rows(fields, result=[{"sample_id": "a"}, {"sample_id": "b"}], count=1) == [
        {"sample_id": "a"}
    ]
    with pytest.raises(BadDataset, match="has no samples"):
        taken(fields)


def test_a_source_says_what_it_reads() -> None:
    def read(**fields: Any) -> Any:
        return SOURCES.validate_python(fields)

    assert read(type="dataset_samples", key="a").dataset_keys == ("a",)
    assert read(type="dataset_sample_combinations", keys=["a", "b"]).dataset_keys == ("a", "b")
    assert read(type="task_result", key="a").result_key == "a"
    assert read(type="empty").dataset_keys == ()
    assert read(type="empty").result_key is None


def test_other_rows_have_another_digest() -> None:
    fields = {"type": "dataset_samples", "key": "cities"}
    other = {"cities": [{"city": "Ulm"}]}

    assert taken(fields).digest == taken(fields, 2).digest
    assert taken(fields).digest != taken(fields, datasets=other).digest


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"type": "empty", "num_samples": 0}, id="none"),
        pytest.param({"type": "inline_samples", "samples": []}, id="no rows"),
        pytest.param({"type": "dataset_sample_combinations", "keys": []}, id="no dataset"),
        pytest.param({"type": "dataset_sample_combinations", "keys": ["a", "a"]}, id="one twice"),
        pytest.param({"type": "dataset_samples", "key": "a", "random_seed": -1}, id="seed"),
        pytest.param({"type": "dataset_samples", "key": "a", "seed": 1}, id="a key misspelt"),
    ],
)
def test_refuses(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        SOURCES.validate_python(fields)


def test_several_rows_of_one_are_told_apart_where_they_have_an_id() -> None:
    assert number_ids([{"sample_id": "a", "n": 1}, {"sample_id": "a", "n": 2}]) == [
        {"sample_id": "a.1", "n": 1},
        {"sample_id": "a.2", "n": 2},
    ]
    assert number_ids([{"sample_id": "a"}, {"sample_id": "b"}]) == [
        {"sample_id": "a"},
        {"sample_id": "b"},
    ]
    assert number_ids([{"n": 1}, {"n": 2}]) == [{"n": 1}, {"n": 2}]
