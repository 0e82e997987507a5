import pytest
from tests.metrics.cases import measures, of

FIELDS = {"type": "frequency", "field": "x"}


def test_each_value_has_its_share_in_the_order_of_names() -> None:
    found = measures(FIELDS, of(["b", "a", "b", True, 3, 2.5, "b", None]))

    assert [one.name for one in found] == ["x_2.5", "x_3", "x_True", "x_a", "x_b"]
    assert [one.value for one in found] == [1 / 7, 1 / 7, 1 / 7, 1 / 7, 3 / 7]
    assert sum(one.value or 0 for one in found) == pytest.approx(1)
    assert {one.interval.method for one in found if one.interval} == {"wilson"}
    assert {(one.n, one.reason) for one in found} == {(7, "1 of 8 scores have no value")}


def test_values_that_read_the_same_are_the_same() -> None:
    (found,) = measures(FIELDS, of([True, "True"]))

    assert (found.name, found.value) == ("x_True", 1.0)


def test_without_scores_there_is_nothing_to_name() -> None:
    assert measures(FIELDS, []) == []


def test_without_a_value_in_them_the_score_itself_is_named() -> None:
    (found,) = measures(FIELDS, of([None, None]))

    assert (found.name, found.value, found.interval, found.n) == ("x", None, None, 0)
    assert found.reason == "2 of 2 scores have no value"


def test_lists_are_values_too() -> None:
    assert [one.name for one in measures(FIELDS, of([[1], [1]]))] == ["x_[1]"]
