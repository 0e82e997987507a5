import pytest

from evalwright.datasets.synthesizers.llm import ColumnType, parse_columns, schema_properties

COLUMNS: dict[str, ColumnType] = {"q": "string", "n": "integer"}


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
def test_the_columns_are_found(reply: str) -> None:
    assert parse_columns(reply, COLUMNS) == {"q": "Wo?", "n": 1}


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param("", "no JSON object: ''", id="nothing"),
        pytest.param('{"q": "Wo?", "n": 1', "no JSON object", id="half an object"),
        pytest.param('{"q": "a", "n": 1}{"q": "b", "n": 1}', "2 different JSON", id="two"),
        pytest.param('{"q": "a", "n": true}', "`n` to be a `integer`, got a `bool`", id="a bool"),
        pytest.param('{"q": "a", "n": 1.5}', "got a `float`", id="a fraction"),
        pytest.param('{"q": "a", "n": NaN}', "no JSON object", id="not a number"),
        pytest.param('{"q": " ", "n": 1}', "`q` to be a `string`", id="an empty text"),
        pytest.param('{"q": null, "n": 1}', "got a `NoneType`", id="null"),
        pytest.param("{" * 5000, "no JSON object", id="noise"),
        pytest.param('{"q":' * 3000, "no JSON object", id="too deep"),
    ],
)
def test_what_is_not_clear_is_an_error_with_the_words_of_the_model(reply: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_columns(reply, COLUMNS)


def test_a_long_reply_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match=r"…'$") as caught:
        parse_columns("x" * 9999, COLUMNS)

    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("kind", "value"),
    [("float", 1), ("float", 0.5), ("boolean", False), ("list", ["a"]), ("string", "نعم")],
)
def test_a_type_takes_its_values(kind: ColumnType, value: object) -> None:
    import json

    assert parse_columns(json.dumps({"x": value}), {"x": kind}) == {"x": value}


def test_every_type_has_a_schema() -> None:
    kinds: dict[str, ColumnType] = {
        "a": "string",
        "b": "integer",
        "c": "float",
        "d": "boolean",
        "e": "list",
    }

    assert [one["type"] for one in schema_properties(kinds).values()] == [
        "string",
        "integer",
        "number",
        "boolean",
        "array",
    ]
