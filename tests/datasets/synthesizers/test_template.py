import pytest
from tests.datasets.synthesizers.made import synthesized, synthesizer

ASKS = {"type": "template", "columns": {"question": "Where is {{ sample.city }}?"}}


def test_a_column_is_the_text_of_its_template_and_the_others_stay() -> None:
    (row,) = synthesized(ASKS, {"city": "القاهرة"})

    assert row == {"city": "القاهرة", "question": "Where is القاهرة?"}


def test_a_template_knows_the_place_of_its_row() -> None:
    fields = {"type": "template", "columns": {"sample_id": "q-{{ index }}"}}

    assert synthesized(fields, {}, index=7) == [{"sample_id": "q-7"}]


def test_templates_see_the_row_of_before() -> None:
    fields = {"type": "template", "columns": {"a": "{{ sample.b }}", "b": "{{ sample.a }}"}}

    assert synthesized(fields, {"a": "1", "b": "2"}) == [{"a": "2", "b": "1"}]


def test_a_row_without_the_column_fails() -> None:
    with pytest.raises(ValueError, match="city"):
        synthesized(ASKS, {"town": "Bonn"})


def test_a_column_that_no_row_has_is_said_before() -> None:
    with pytest.raises(ValueError, match="no row has a column `city`; the columns are `town`"):
        synthesizer(ASKS).columns_after(frozenset({"town"}))


def test_its_columns_are_there_afterwards() -> None:
    assert synthesizer(ASKS).columns_after(frozenset({"city"})) == {"city", "question"}
    assert synthesizer(ASKS).columns_after(None) is None


def test_at_least_one_column_is_written() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        synthesizer({"type": "template", "columns": {}})
