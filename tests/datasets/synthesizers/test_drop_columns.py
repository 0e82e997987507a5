import pytest
from tests.datasets.synthesizers.made import synthesized, synthesizer

DROPS = {"type": "drop_columns", "columns": ["draft"]}


def test_columns_are_taken_away_where_a_row_has_them() -> None:
    assert synthesized(DROPS, {"draft": 1, "final": 2}) == [{"final": 2}]
    assert synthesized(DROPS, {"final": 2}) == [{"final": 2}]


def test_a_row_that_has_nothing_left_fails() -> None:
    with pytest.raises(ValueError, match="removes all columns"):
        synthesized(DROPS, {"draft": 1})


def test_a_column_that_no_row_has_is_said_before() -> None:
    with pytest.raises(ValueError, match="no row has a column `draft`; the columns are `drft`"):
        synthesizer(DROPS).columns_after(frozenset({"drft"}))


def test_the_others_are_there_afterwards() -> None:
    assert synthesizer(DROPS).columns_after(frozenset({"draft", "final"})) == {"final"}
    assert synthesizer(DROPS).columns_after(None) is None
