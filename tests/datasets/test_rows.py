import math
from itertools import islice, repeat
from typing import Any

import pytest
from pydantic import TypeAdapter

from evalwright.datasets import rows as rows_module
from evalwright.datasets.reading import LazyRows
from evalwright.datasets.rows import Missing, Rows
from evalwright.errors import BadDataset
from evalwright.rules.filters import AnyFilter

FILTER: TypeAdapter[Any] = TypeAdapter(AnyFilter)


def rows(
    *samples: dict[str, Any],
    filters: tuple[dict[str, Any], ...] = (),
    missing: Missing = "absent",
    header: tuple[str, ...] | None = None,
) -> Rows:
    reader = LazyRows(lambda: iter(samples), header=header)
    made = [FILTER.validate_python(one) for one in filters]
    return Rows(reader, name="a.csv", filters=made, missing=missing)


def comparison(expression: str, value: Any, op: str = "equals") -> dict[str, Any]:
    return {"op": op, "expression": f"{{{{ {expression} }}}}", "value": value}


def unary(op: str, expression: str) -> dict[str, Any]:
    return {"op": op, "expression": f"{{{{ {expression} }}}}"}


def refused(dataset: Rows) -> BadDataset:
    with pytest.raises(BadDataset) as caught:
        dataset.check()
    return caught.value


def test_an_id_is_the_place_of_the_row_if_it_has_none() -> None:
    assert list(rows({"a": 1}, {"a": 2}).identify()) == [("0", {"a": 1}), ("1", {"a": 2})]


@pytest.mark.parametrize(
    ("given", "expected"), [("x", "x"), (7, "7"), (-1, "-1"), (1.5, "1.5"), ("007", "007")]
)
def test_an_id_is_the_sample_id_as_text(given: Any, expected: str) -> None:
    ((found, row),) = rows({"sample_id": given}).identify()

    assert found == expected
    assert row["sample_id"] == given


@pytest.mark.parametrize("given", [None, math.nan])
def test_no_sample_id_is_none(given: Any) -> None:
    ((found, _),) = rows({"sample_id": given}).identify()

    assert found == "0"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param("", "got an empty string", id="empty"),
        pytest.param(True, "got a `bool`", id="a boolean"),
        pytest.param(["x"], "got a `list`", id="a list"),
        pytest.param({}, "got a `dict`", id="an object"),
    ],
)
def test_what_cannot_be_an_id_is_refused(given: Any, said: str) -> None:
    error = refused(rows({"sample_id": "x"}, {"sample_id": given}))

    assert f"a.csv: row 1: `sample_id` must be a string or a number, {said}" in error.message


@pytest.mark.parametrize(
    "twice", [pytest.param("x", id="texts"), pytest.param(1, id="a number and its text")]
)
def test_an_id_given_twice_is_an_error(twice: Any) -> None:
    error = refused(rows({"sample_id": str(twice)}, {"sample_id": "y"}, {"sample_id": twice}))

    assert f"two rows have the `sample_id` `{twice}`" in error.message


def test_two_ids_with_one_hash_are_two_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "hash", lambda _: 1, raising=False)

    found = rows({"sample_id": "x"}, {"sample_id": "y"}).identify()

    assert [name for name, _ in found] == ["x", "y"]


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        pytest.param(({"sample_id": "x"}, {}), ("no", "one"), id="one is missing"),
        pytest.param(({}, {"sample_id": "0"}), ("a", "none"), id="one too many"),
    ],
)
def test_all_rows_have_an_id_or_none_has(
    samples: tuple[dict[str, Any], ...], said: tuple[str, str]
) -> None:
    has, have = said

    assert refused(rows(*samples)).message == (
        f"a.csv: row 1: this row has {has} `sample_id`, but the rows before it have {have}"
    )


def test_no_rows_is_an_error() -> None:
    assert refused(rows()).message == "a.csv: no rows"
    assert refused(rows(filters=(comparison("a", 1),))).message == "a.csv: no rows"


def test_no_rows_left_says_which_filter_dropped_how_many() -> None:
    samples = [{"a": place} for place in range(5)]
    filters = (comparison("sample.a", 3, "less_than"), comparison("a", 9, "greater_than"))

    assert refused(rows(*samples, filters=filters)).message == (
        "a.csv: none of the 5 rows passed 2 filters: filters[0] dropped 2, filters[1] dropped 3"
    )


def test_a_row_must_pass_all_filters_and_the_ids_are_those_of_what_is_left() -> None:
    samples = [{"a": place, "b": place % 2 == 0} for place in range(6)]
    kept = rows(*samples, filters=(unary("is_true", "b"), comparison("sample.a", 0, "not_equals")))

    assert list(kept.identify()) == [("0", {"a": 2, "b": True}), ("1", {"a": 4, "b": True})]


def test_a_filter_sees_the_row_as_sample_and_each_column_by_name() -> None:
    kept = rows({"sample": {"x": 1}}, filters=(comparison("sample.sample.x", 1),))

    assert kept.check() == 1


def test_a_later_filter_is_not_asked_about_what_an_earlier_one_dropped() -> None:
    kept = rows({"a": 1}, {}, filters=(unary("exists", "sample.a"), comparison("sample.a", 1)))

    assert list(kept.rows()) == [{"a": 1}]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        pytest.param(comparison("sample.langauge", "en"), "langauge", id="no such column"),
        pytest.param(unary("is_true", "sample.language"), "is_true", id="no truth value"),
        pytest.param(comparison("1 / 0", 1), "division", id="it cannot be worked out"),
    ],
)
def test_a_filter_that_fails_says_where(one: dict[str, Any], said: str) -> None:
    error = refused(rows({"language": "en"}, filters=(comparison("language", "en"), one)))

    assert error.message.startswith("a.csv: row 0: filters[1]: ")
    assert said in error.message
    assert "\n" not in error.message


def test_to_a_comparison_an_empty_cell_of_a_table_is_an_empty_text() -> None:
    samples: list[dict[str, Any]] = [{"a": "en"}, {}, {"a": "de"}]

    kept = rows(*samples, header=("a",), filters=(comparison("sample.a", "en", "not_equals"),))

    assert list(kept.rows()) == [{}, {"a": "de"}]


def test_an_empty_cell_of_a_table_does_not_exist() -> None:
    kept = rows({"a": 1}, {}, header=("a",), filters=(unary("not_exists", "a"),))

    assert list(kept.rows()) == [{}]


def test_what_is_missing_may_be_nan() -> None:
    first, second = rows({"a": 1}, {"b": None}, missing="nan").rows()

    assert (first["a"], second["b"]) == (1, None)
    assert math.isnan(first["b"])
    assert math.isnan(second["a"])


def test_columns_are_those_of_all_rows_in_the_order_of_their_coming() -> None:
    assert rows({"b": 1}, {"a": 1, "b": 2}, {"c": 1}).columns == ("b", "a", "c")
    assert rows({"b": 1}, header=("a", "b")).columns == ("a", "b")


def test_the_first_rows_are_read_without_the_others() -> None:
    endless = LazyRows(lambda: repeat({"a": 1}))

    assert list(islice(Rows(endless, name="x").rows(), 2)) == [{"a": 1}] * 2


def test_the_digest_is_of_rows_filters_and_options() -> None:
    plain = rows({"a": 1}).digest

    assert rows({"a": 1}).digest == plain
    others = [
        rows({"a": 2}),
        rows({"a": 1}, missing="nan"),
        rows({"a": 1}, filters=(comparison("a", 1),)),
        rows({"a": 1}, filters=(comparison("a", 2),)),
        rows({"a": 1}, filters=(comparison("a", "1"),)),
        rows({"a": 1}, filters=(comparison("b", 1),)),
        rows({"a": 1}, filters=(comparison("a", 1), comparison("a", 1))),
    ]
    assert len({plain, *(other.digest for other in others)}) == 1 + len(others)
