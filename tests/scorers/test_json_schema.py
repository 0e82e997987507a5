import json
import socket
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, chat, score

SCHEMA = {
    "type": "object",
    "required": ["city"],
    "properties": {"city": {"type": "string"}, "guests": {"type": "integer", "minimum": 1}},
}
PLAIN = {"type": "json_schema"}
FIELDS = {**PLAIN, "ground_truth": "{{ sample.fields | tojson }}"}
ORDER = {**FIELDS, "json_schema": SCHEMA}


@pytest.mark.parametrize(
    ("answer", "is_json"),
    [
        pytest.param('{"a": 1}', True, id="an object"),
        pytest.param(" [1, null]\n", True, id="a list"),
        pytest.param('"مدينة"', True, id="Arabic text"),
        pytest.param("null", True, id="null"),
        pytest.param("", False, id="an empty answer"),
        pytest.param("Paris", False, id="a word"),
        pytest.param("{'a': 1}", False, id="Python"),
        pytest.param('{"a": 1,}', False, id="a comma too many"),
        pytest.param('{"a": 1} ok', False, id="text after it"),
        pytest.param('```json\n{"a": 1}\n```', False, id="a code block"),
        pytest.param("NaN", False, id="a constant of Python"),
        pytest.param("[" * 100_000, False, id="too deep"),
        pytest.param("9" * 5000, False, id="too many digits"),
    ],
)
def test_without_a_schema_the_value_must_be_json(answer: str, *, is_json: bool) -> None:
    found = score(PLAIN, {}, chat(answer))

    assert found.values == {
        "is_correct": is_json,
        "is_valid_json": is_json,
        "meets_schema": is_json,
        "fields_correct": None,
    }
    assert found.correct is is_json
    assert found.reason.startswith("" if is_json else "not JSON: ")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param({"city": "Rome", "guests": 2}, "", id="meets it"),
        pytest.param({"city": "روما"}, "", id="Arabic"),
        pytest.param({"guests": 2}, "$: 'city' is a required property", id="a field is missing"),
        pytest.param({"city": 5}, "$.city: 5 is not of type 'string'", id="another type"),
        pytest.param({"city": "", "guests": 0}, "$.guests: 0 is less than", id="out of range"),
        pytest.param([], "$: [] is not of type 'object'", id="no object"),
    ],
)
def test_a_value_must_meet_the_schema(answer: Any, reason: str) -> None:
    for schema in (SCHEMA, json.dumps(SCHEMA)):
        found = score({**PLAIN, "json_schema": schema}, {}, chat(json.dumps(answer)))

        assert found.values["meets_schema"] is found.correct is (reason == "")
        assert found.correct is Draft202012Validator(SCHEMA).is_valid(answer)
        assert found.reason.startswith(reason)
        assert bool(found.reason) is bool(reason)


@pytest.mark.parametrize(
    ("answer", "fields", "share"),
    [
        pytest.param('{"a": 1, "b": 2}', {"a": 1, "b": 2}, 1, id="all"),
        pytest.param('{"a": 1, "b": 3}', {"a": 1, "b": 2}, 0.5, id="one of two"),
        pytest.param('{"a": 1}', {"a": 1, "b": 2}, 0.5, id="one is missing"),
        pytest.param('{"a": 1, "c": 9}', {"a": 1}, 1, id="others are ignored"),
        pytest.param('{"a": 2.0}', {"a": 2}, 1, id="numbers by value"),
        pytest.param('{"a": true}', {"a": 1}, 0, id="true is not 1"),
        pytest.param('{"a": "2"}', {"a": 2}, 0, id="a text is no number"),
        pytest.param('{"a": null}', {"a": None}, 1, id="null"),
        pytest.param('{"a": [1, {"b": 2}]}', {"a": [1, {"b": 2}]}, 1, id="nested"),
        pytest.param('{"a": [{"b": true}]}', {"a": [{"b": 1}]}, 0, id="nested, true is not 1"),
        pytest.param('{"a": [1, 2]}', {"a": [2, 1]}, 0, id="the order of a list"),
        pytest.param('{"a": "باريس"}', {"a": "باريس"}, 1, id="Arabic"),
        pytest.param('"\\u00e9"', {"a": 1}, 0, id="no object"),
        pytest.param('{"a": "\\u00e9"}', {"a": "é"}, 1, id="an escape"),
        pytest.param("oops", {"a": 1}, 0, id="no JSON"),
    ],
)
def test_fields_are_compared(answer: str, fields: dict[str, Any], share: float) -> None:
    found = score(FIELDS, {"fields": fields}, chat(answer))

    assert found.values["fields_correct"] == share
    assert found.values["is_correct"] is found.correct is (share == 1)
    assert bool(found.reason) is (share < 1)


def test_the_reason_lists_every_problem() -> None:
    row = {"fields": {"city": "Rome", "guests": 2}}
    found = score(ORDER, row, chat('{"city": "Oslo", "guests": 0}'))

    assert found.reason == (
        "$.guests: 0 is less than the minimum of 1; "
        '`city` is "Oslo", expected "Rome"; `guests` is 0, expected 2'
    )


def test_a_code_block_can_be_extracted() -> None:
    fields = {**PLAIN, "post_process": "extract_code_block"}

    assert score(fields, {}, chat('Here it is:\n```json\n{"a": 1}\n```\nDone.')).correct
    assert score(fields, {}, chat('{"a": 1}')).correct


def test_a_reference_inside_the_schema_is_followed() -> None:
    schema = '{"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}'

    assert score({**PLAIN, "json_schema": schema}, {}, chat("[1, 2]")).correct
    assert not score({**PLAIN, "json_schema": schema}, {}, chat('["1"]')).correct


def test_a_reference_to_another_document_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("it asked the network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    schema = '{"$ref": "http://127.0.0.1:9/schema.json"}'

    with pytest.raises(ValueError, match="`json_schema` has an unresolvable reference"):
        score({**PLAIN, "json_schema": schema}, {}, chat("[1]"))


def test_without_the_extra_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)

    assert score(PLAIN, {}, chat("[1]")).correct  # only a schema needs it
    with pytest.raises(ValidationError, match=r"pip install 'evalwright\[json-schema\]'"):
        SCORERS.validate_python({**PLAIN, "json_schema": SCHEMA})


@pytest.mark.parametrize("text", ["[1]", "{}", "Rome", ""])
def test_a_ground_truth_without_fields_is_an_error(text: str) -> None:
    fields = {**PLAIN, "ground_truth": "{{ sample.text }}"}

    with pytest.raises(ValueError, match="`ground_truth` must render to a JSON object"):
        score(fields, {"text": text}, chat("{}"))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        pytest.param({"type": "objekt"}, r"not a JSON Schema: 'objekt' .* at \$.type", id="a type"),
        pytest.param("{", "not JSON", id="no JSON"),
        pytest.param(5, "json_schema", id="a number"),
    ],
)
def test_what_is_no_schema_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SCORERS.validate_python({**PLAIN, "json_schema": schema})
