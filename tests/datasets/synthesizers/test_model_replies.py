import json
from typing import Any

import pytest

from evalwright.datasets.synthesizers.model_replies import (
    describe_format,
    find_mismatch,
    parse_object,
    parse_rows,
    samples_schema,
)

PROPERTIES = {"q": {"type": "string"}, "n": {"type": "integer"}}
ONE = {"q": "Wo?", "n": 1}
TWO = {"q": "من؟", "n": 2}


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param('{"q": "Wo?", "n": 1}', id="alone"),
        pytest.param('```json\n{"q": "Wo?", "n": 1}\n```', id="in a fence"),
        pytest.param('Here it is: {"q": "Wo?", "n": 1}. Enjoy {it}!', id="prose around"),
        pytest.param('{"q": "Wo?", "n": 1} {"q": "Wo?", "n": 1}', id="twice the same"),
        pytest.param('{"note": 1}\n{"q": "Wo?", "n": 1}', id="another object before"),
        pytest.param('[{"q": "Wo?", "n": 1}]', id="in a list"),
        pytest.param('{"n": 1, "more": {"q": "x", "n": 2}, "q": "Wo?"}', id="another inside"),
        pytest.param('{ {"q": "Wo?", "n": 1}', id="a brace too many"),
    ],
)
def test_one_row_is_read_from_an_object(reply: str) -> None:
    assert parse_object(reply, PROPERTIES) == ONE
    assert parse_rows(reply, PROPERTIES) == [ONE]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(json.dumps([ONE, TWO]), id="a list"),
        pytest.param(json.dumps({"samples": [ONE, TWO]}), id="under a key"),
        pytest.param(json.dumps({"questions": [{**ONE, "why": 1}, TWO]}), id="under another key"),
        pytest.param(f"See [1].\n```json\n{json.dumps([ONE, TWO])}\n```", id="in a fence"),
        pytest.param(
            f"I think of {json.dumps(TWO)}.<output_json>{json.dumps([ONE, TWO])}</output_json>",
            id="between tags",
        ),
    ],
)
def test_several_rows_are_read_from_a_list(reply: str) -> None:
    assert parse_rows(reply, PROPERTIES) == [ONE, TWO]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param("", "no JSON value: ''", id="nothing"),
        pytest.param("[]", "no JSON value", id="an empty list"),
        pytest.param('{"q": "Wo?", "n": 1', "no JSON value", id="half an object"),
        pytest.param('{"q": "Wo?"}', "no JSON value", id="a property less"),
        pytest.param('{"q": "a", "n": 1}{"q": "b", "n": 1}', "2 different JSON", id="two"),
        pytest.param('{"q": "a", "n": true}', "`n` to be a `integer`, got a `bool`", id="a bool"),
        pytest.param('{"q": "a", "n": 1.5}', "got a `float`", id="a fraction"),
        pytest.param('{"q": "a", "n": NaN}', "no JSON value", id="not a number"),
        pytest.param('{"q": " ", "n": 1}', "`q` to be a `string`", id="an empty text"),
        pytest.param('{"q": null, "n": 1}', "got a `NoneType`", id="null"),
        pytest.param("{" * 5000, "no JSON value", id="noise"),
        pytest.param('{"q":' * 3000, "no JSON value", id="too deep"),
    ],
)
def test_an_unclear_reply_is_an_error_that_quotes_it(reply: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_rows(reply, PROPERTIES)
    with pytest.raises(ValueError, match=message.replace("value", "object")):
        parse_object(reply.replace("[]", "{}"), PROPERTIES)


def test_a_list_with_one_item_that_does_not_fit_is_no_row() -> None:
    with pytest.raises(ValueError, match="no JSON value"):
        parse_rows('[{"q": "a", "n": 1}, {"q": "b"}]', PROPERTIES)


def test_a_long_reply_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match=r"…'$") as caught:
        parse_rows("x" * 9999, PROPERTIES)

    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "number"}, 1, "1"),
        ({"type": ["string", "null"]}, None, 1),
        ({"type": "boolean"}, False, 0),
        ({"enum": ["easy", "hard"]}, "easy", "Easy"),
        ({"type": "array", "items": {"type": "string"}}, ["نعم"], ["a", 1]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, "x"),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": "1"}),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"a": None}, {"b": 1}),
        ({}, object(), None),
        (True, 1, None),
    ],
)
def test_a_value_must_match_its_schema(schema: Any, good: Any, bad: Any) -> None:
    assert find_mismatch(good, schema) is None
    if bad is not None:
        assert find_mismatch(bad, schema) is not None


def test_a_model_is_told_the_same_form_by_schema_and_in_words() -> None:
    schema = samples_schema(PROPERTIES).response_format["json_schema"]["schema"]

    item = schema["properties"]["samples"]["items"]
    assert item["properties"] == PROPERTIES
    assert item["required"] == ["q", "n"]
    assert json.loads(describe_format(PROPERTIES).splitlines()[-1]) == item
