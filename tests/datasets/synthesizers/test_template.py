from typing import Any

import pytest
from tests.datasets.synthesizers.made import synthesized, synthesizer

WALKS: dict[str, Any] = {
    "type": "template",
    "template": "In {{ source.city }}, {distance} to the {direction}, {unknown}?",
    "fields": {"distance": [1, 2], "direction": ["north", "{{ south }}"]},
}
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


def test_every_combination_of_field_values_is_a_row() -> None:
    made = synthesized(WALKS, {"city": "القاهرة {distance}"})

    assert [row["text"] for row in made] == [
        "In القاهرة {distance}, 1 to the north, {unknown}?",
        "In القاهرة {distance}, 1 to the {{ south }}, {unknown}?",
        "In القاهرة {distance}, 2 to the north, {unknown}?",
        "In القاهرة {distance}, 2 to the {{ south }}, {unknown}?",
    ]
    assert made[2] == {
        "city": "القاهرة {distance}",
        "distance": 2,
        "direction": "north",
        "text": "In القاهرة {distance}, 2 to the north, {unknown}?",
    }


def test_each_of_several_templates_is_combined_with_the_fields() -> None:
    fields = {"type": "template", "template": ["{لون}!", "{لون}?"], "fields": {"لون": ["x", "y"]}}

    assert [row["text"] for row in synthesized(fields, {})] == ["x!", "y!", "x?", "y?"]


def test_a_template_without_fields_makes_one_row() -> None:
    fields = {"type": "template", "template": "{{ index }}{{ '{a}' }}"}

    assert synthesized(fields, {"b": 1}, index=4) == [{"b": 1, "text": "4{a}"}]


def test_the_columns_of_fields_and_text_are_there_afterwards() -> None:
    own = {"city", "distance", "direction", "text"}

    assert synthesizer(WALKS).columns_after(frozenset({"city"})) == own
    with pytest.raises(ValueError, match="no row has a column `city`"):
        synthesizer(WALKS).columns_after(frozenset())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "expected `template`, got none"),
        ({"template": "a", "columns": {"b": "c"}}, "`columns` as well"),
        ({"columns": {"b": "c"}, "fields": {"a": [1]}}, "`fields` needs a `template`"),
        ({"template": []}, "at least 1"),
        ({"template": "a", "fields": {"a": []}}, "at least 1"),
        ({"template": "a", "fields": {"a": "b"}}, "list"),
        ({"template": "{{ source."}, "line 1"),
        ({"template": "x", "fields": {n: [*range(10)] for n in "abcde"}}, "at most 10,000 rows"),
    ],
)
def test_refuses(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        synthesizer({"type": "template", **fields})
