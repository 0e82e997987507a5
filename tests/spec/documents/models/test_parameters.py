import re
from typing import Any

import pytest
from pydantic import TypeAdapter

from evalwright.spec.documents.models.parameters import (
    AnyParameter,
    Parameter,
    is_stand_in,
)
from evalwright.spec.documents.resolve.config_values import read_parameters

ADAPTER: TypeAdapter[Any] = TypeAdapter(AnyParameter)


def parameter(kind: str, **fields: Any) -> Parameter:
    made = ADAPTER.validate_python({"type": kind, "key": "p", "display_name": "P", **fields})
    assert isinstance(made, Parameter)
    return made


def named(value: Any) -> str:
    return str(getattr(value, "type", value))


INT = parameter("int", min=1, max=5)
FLOAT = parameter("float", min=0)
FLAG = parameter("boolean")
TEXT = parameter("string")
WORDS = parameter("list", dtype="string")
NUMBERS = parameter("list", dtype="float")
WEIGHTS = parameter("dict", value_dtype="float")
SIZE = parameter("categorical", allowed_values=["s", "m"], values_mapping={"s": 1})
SIZES = parameter("categorical", allowed_values=["s", "m"], multiple=True)
MODEL = parameter("model", usage="judge_model")


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        pytest.param(INT, 3, 3, id="an int"),
        pytest.param(FLOAT, 3, 3.0, id="an int is a float too"),
        pytest.param(FLOAT, 0.5, 0.5, id="a float"),
        pytest.param(FLAG, True, True, id="a bool"),
        pytest.param(FLAG, "No", False, id="the old spelling of a bool"),
        pytest.param(TEXT, "", "", id="an empty text is a text"),
        pytest.param(WORDS, ["a", "b"], ["a", "b"], id="a list"),
        pytest.param(WORDS, [], [], id="an empty list"),
        pytest.param(NUMBERS, [1, 2.5], [1.0, 2.5], id="ints in a list of floats"),
        pytest.param(WEIGHTS, {"a": 1}, {"a": 1.0}, id="a mapping"),
        pytest.param(SIZE, "s", 1, id="a category is translated"),
        pytest.param(SIZE, "m", "m", id="a category without a translation is itself"),
        pytest.param(SIZES, ["m", "s"], ["m", "s"], id="several categories"),
        pytest.param(MODEL, "openai$gpt", "openai$gpt", id="the key of a model"),
        pytest.param(parameter("int", nullable=True), None, None, id="null where it is legal"),
        pytest.param(parameter("dataset_column"), "answer", "answer", id="a column"),
        pytest.param(parameter("dataset"), "qa", "qa", id="a dataset"),
        pytest.param(parameter("task_result"), "first", "first", id="a task result"),
    ],
)
def test_a_value_of_the_declared_type_is_used(spec: Parameter, value: Any, expected: Any) -> None:
    found = spec.check(value)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("spec", "value", "message"),
    [
        (INT, True, "expected `int`, got `bool`"),
        (INT, 3.0, "expected `int`, got `float`"),
        (INT, "3", "expected `int`, got `str`"),
        (INT, 0, "expected a number of at least 1, got 0"),
        (INT, 6, "expected a number of at most 5, got 6"),
        (INT, None, "expected a whole number, got `null`"),
        (FLOAT, float("nan"), "expected a number of at least 0.0, got nan"),
        (FLOAT, "x", "expected `float`, got `str`"),
        (FLAG, 1, "expected `bool`, got `int`"),
        (FLAG, "maybe", "expected `bool`, got `str`"),
        (TEXT, 3, "expected `str`, got `int`"),
        (WORDS, "a", "expected `list`, got `str`"),
        (WORDS, ["a", 1], "item 2: expected `str`, got `int`"),
        (WEIGHTS, [1], "expected `dict`, got `list`"),
        (WEIGHTS, {"a": "x"}, "`a`: expected `float`, got `str`"),
        (SIZE, "l", "expected one of `s`, `m`, got `l`"),
        (SIZE, ["s"], "expected one of `s`, `m`, got `list`"),
        (SIZES, "s", "expected `list`, got `str`"),
        (SIZES, ["s", "x"], "expected one of `s`, `m`, got `x`"),
        (MODEL, 3, "expected the key of a model, got `int`"),
        (MODEL, " ", "expected the key of a model, got an empty string"),
    ],
    ids=named,
)
def test_any_other_value_is_refused_in_a_sentence(
    spec: Parameter, value: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        spec.check(value)


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        pytest.param(INT, "4", 4, id="int"),
        pytest.param(FLOAT, "1e-3", 0.001, id="float"),
        pytest.param(FLAG, "on", True, id="boolean"),
        pytest.param(TEXT, "4", "4", id="digits for a text stay a text"),
        pytest.param(WORDS, "a, b", ["a", "b"], id="a list with commas"),
        pytest.param(WORDS, '["a,b"]', ["a,b"], id="a list in JSON"),
        pytest.param(WORDS, "", [], id="an empty list"),
        pytest.param(NUMBERS, "1,2.5", [1.0, 2.5], id="a list of numbers"),
        pytest.param(parameter("list", dtype="integer"), "1,2", [1, 2], id="a list of ints"),
        pytest.param(parameter("list", dtype="boolean"), "yes,no", [True, False], id="of bools"),
        pytest.param(WEIGHTS, '{"a": 2}', {"a": 2.0}, id="a mapping in JSON"),
        pytest.param(SIZES, "s,m", ["s", "m"], id="several categories"),
        pytest.param(parameter("int", nullable=True), "null", None, id="null where it is legal"),
    ],
)
def test_a_text_of_the_command_line_is_read_by_the_declared_type(
    spec: Parameter, text: str, expected: Any
) -> None:
    assert spec.check(spec.parse(text)) == expected


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        (INT, "four", "expected `int`, got `four`"),
        (NUMBERS, "1,b", "expected `float`, got `b`"),
        (WEIGHTS, "a=1", "expected a JSON object, got `a=1`"),
    ],
    ids=named,
)
def test_a_text_that_is_no_such_value_is_refused(spec: Parameter, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        spec.parse(text)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({"type": "int", "min": 2, "default_value": 1}, "default_value", id="range"),
        pytest.param({"type": "int", "default_value": "x"}, "default_value", id="type"),
        pytest.param({"type": "float", "min": 3, "max": 2}, "min", id="nothing is in the range"),
        pytest.param(
            {"type": "categorical", "allowed_values": ["a"], "default_value": "b"},
            "default_value",
            id="not allowed",
        ),
        pytest.param(
            {"type": "categorical", "allowed_values": ["a"], "values_mapping": {"b": 1}},
            "values_mapping",
            id="a translation of nothing",
        ),
    ],
)
def test_a_parameter_that_contradicts_itself_has_a_fault(fields: Any, path: str) -> None:
    (fault,) = parameter(fields.pop("type"), **fields).faults()

    assert fault.path[0] == path


@pytest.mark.parametrize(
    ("key", "rules"),
    [
        pytest.param("b-c_1", [], id="a name"),
        pytest.param("b c", ["unusable_key"], id="a space"),
        pytest.param("größe", ["unusable_key"], id="another letter"),
    ],
)
def test_a_key_is_one_that_a_placeholder_can_name(key: str, rules: list[str]) -> None:
    declared = {"config_spec": [{"type": "string", "key": key, "display_name": "B"}]}
    parameters, faults = read_parameters(declared)

    assert [one.key for one in parameters] == [key]
    assert [(one.rule, one.level, one.path) for one in faults] == [
        (rule, "warning", ("config_spec", 0, "key")) for rule in rules
    ]


def test_a_value_is_required_without_a_default_unless_null_is_legal() -> None:
    assert parameter("int").needs_value
    assert not parameter("int", default_value=1).needs_value
    assert not parameter("int", nullable=True).needs_value
    assert parameter("string", default_file_content="def f(): ...").needs_value


@pytest.mark.parametrize(
    "spec",
    [
        INT,
        FLOAT,
        FLAG,
        TEXT,
        WORDS,
        NUMBERS,
        WEIGHTS,
        SIZES,
        MODEL,
        parameter("int", min=7),
        parameter("int", max=-7),
        parameter("float", default_value=2),
        parameter("list", dtype="boolean"),
        parameter("dataset"),
        parameter("task_result"),
    ],
    ids=lambda spec: str(spec.type),
)
def test_what_stands_in_for_a_value_is_a_legal_one(spec: Parameter) -> None:
    value = spec.stand_in

    assert spec.check(value) == value


def test_what_stands_in_for_a_key_can_be_told_from_one() -> None:
    assert is_stand_in(MODEL.stand_in)
    assert is_stand_in(f"{{{{ sample.{parameter('dataset_column').stand_in} }}}}")
    assert not is_stand_in("openai$gpt")
