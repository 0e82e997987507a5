from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalwright.components import Authored
from evalwright.rules.filters import (
    AnyFilter,
    FilterComparison,
    FilterMembership,
    FilterUnary,
)
from evalwright.templates import NotThere

FILTER: TypeAdapter[FilterUnary | FilterComparison | FilterMembership] = TypeAdapter(AnyFilter)
GONE = object()

YES, NO, ERROR, ABSENT = "yes", "no", "error", "absent"


def outcome(given: Any, filter_: dict[str, Any]) -> str:
    """What a filter says of `{{ sample.x }}`."""
    made = FILTER.validate_python({"expression": "{{ sample.x }}", **filter_})
    sample = {} if given is GONE else {"x": given}
    try:
        return YES if made.matches({"sample": sample}) else NO
    except TypeError:
        return ERROR
    except NotThere:
        return ABSENT


GIVEN = [GONE, None, True, False, 3, 2.5, "3", "True", "true", "en", [1], "", 3.0, "3.0"]
NAMES = [
    "gone",
    "None",
    "True",
    "False",
    "3",
    "2.5",
    "'3'",
    "'True'",
    "'true'",
    "'en'",
    "[1]",
    "''",
    "3.0",
    "'3.0'",
]

# One letter for each of GIVEN: y matches, n does not, e is an error, a says it is not there.
MATRIX: list[tuple[dict[str, Any], str]] = [
    ({"op": "exists"}, "nyyyyyyyyyyyyy"),
    ({"op": "not_exists"}, "ynnnnnnnnnnnnn"),
    ({"op": "is_true"}, "aeyneeeyeeeeee"),
    ({"op": "is_false"}, "aenyeeeneeeeee"),
    ({"op": "equals", "value": 3}, "annnynynnnnnyy"),
    ({"op": "equals", "value": 3.0}, "annnynynnnnnyy"),
    ({"op": "equals", "value": "3"}, "annnynynnnnnyn"),
    ({"op": "equals", "value": 2.5}, "annnnynnnnnnnn"),
    ({"op": "equals", "value": "2.5"}, "annnnynnnnnnnn"),
    ({"op": "equals", "value": True}, "anynnnnynnnnnn"),
    ({"op": "equals", "value": "True"}, "anynnnnynnnnnn"),
    ({"op": "equals", "value": "true"}, "anynnnnnynnnnn"),
    ({"op": "equals", "value": "false"}, "annynnnnnnnnnn"),
    ({"op": "equals", "value": "False"}, "annynnnnnnnnnn"),
    ({"op": "equals", "value": "3.0"}, "annnnnnnnnnnyy"),
    ({"op": "not_equals", "value": "True"}, "aynyyyynyyyyyy"),
    ({"op": "equals", "value": "en"}, "annnnnnnnynnnn"),
    ({"op": "equals", "value": "None"}, "annnnnnnnnnnnn"),
    ({"op": "equals", "value": "[1]"}, "annnnnnnnnnnnn"),
    ({"op": "equals", "value": ""}, "annnnnnnnnnynn"),
    ({"op": "not_equals", "value": "3"}, "ayyynynyyyyyny"),
    ({"op": "not_equals", "value": "en"}, "ayyyyyyyynyyyy"),
    ({"op": "greater_than", "value": 2}, "aennyyyneeeeyy"),
    ({"op": "less_than", "value": 2.5}, "aeyynnnyeeeenn"),
    ({"op": "greater_or_equal", "value": 3}, "aennynyneeeeyy"),
    ({"op": "less_or_equal", "value": 2.5}, "aeyynynyeeeenn"),
    ({"op": "greater_than", "value": False}, "aeynyyyyeeeeyy"),
    ({"op": "greater_than", "value": "2"}, "aeeeeeeeeeeeee"),
    ({"op": "in", "values": ["3", "6"]}, "annnynynnnnnyn"),
    ({"op": "in", "values": [3, "en"]}, "annnynynnynnyy"),
    ({"op": "in", "values": [3.0]}, "annnynynnnnnyy"),
    ({"op": "in", "values": [True]}, "anynnnnynnnnnn"),
    ({"op": "in", "values": ["true"]}, "anynnnnnynnnnn"),
    ({"op": "in", "values": ["True"]}, "anynnnnynnnnnn"),
    ({"op": "in", "values": ["3.0"]}, "annnnnnnnnnnyy"),
    ({"op": "in", "values": []}, "annnnnnnnnnnnn"),
    ({"op": "not_in", "values": ["3", "6"]}, "ayyynynyyyyyny"),
    ({"op": "not_in", "values": []}, "ayyyyyyyyyyyyy"),
]
LETTERS = {"y": YES, "n": NO, "e": ERROR, "a": ABSENT}


@pytest.mark.parametrize(
    ("filter_", "given", "expected"),
    [
        pytest.param(
            filter_, given, LETTERS[letter], id=f"{' '.join(map(str, filter_.values()))} of {name}"
        )
        for filter_, letters in MATRIX
        for given, name, letter in zip(GIVEN, NAMES, letters, strict=True)
    ],
)
def test_the_table_of_filters(filter_: dict[str, Any], given: Any, expected: str) -> None:
    assert outcome(given, filter_) == expected


def test_a_path_through_something_that_is_not_there_does_not_exist() -> None:
    made = FILTER.validate_python({"op": "exists", "expression": "{{ sample.a.b.c }}"})

    assert not made.matches({"sample": {}})
    assert not made.matches({"sample": {"a": None}})
    assert made.matches({"sample": {"a": {"b": {"c": None}}}})


def test_a_method_of_a_dict_is_no_column_that_exists() -> None:
    made = FILTER.validate_python({"op": "exists", "expression": "{{ sample.items }}"})

    assert not made.matches({"sample": {}})
    assert made.matches({"sample": {"items": None}})


def test_bare_columns_are_names_too() -> None:
    made = FILTER.validate_python({"op": "equals", "expression": "{{ items }}", "value": 3})

    assert made.matches({"items": 3})


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        pytest.param(
            {"op": "equals", "expression": "{{ a }}"},
            ["comparison.value: Field required"],
            id="no value",
        ),
        pytest.param(
            {"op": "in", "expression": "{{ a }}", "value": 3},
            [
                "membership.values: Field required",
                "membership.value: Extra inputs are not permitted",
            ],
            id="value for values",
        ),
        pytest.param(
            {"op": "exists", "expression": "{{ a }}", "value": 3},
            ["unary.value: Extra inputs are not permitted"],
            id="a value too many",
        ),
        pytest.param({"op": "exists"}, ["unary.expression: Field required"], id="no expression"),
        pytest.param(
            {"op": "equals", "expression": "{{ a }}", "value": [1]},
            ["comparison.value."],
            id="a list as a value",
        ),
        pytest.param(
            {"op": "like", "expression": "{{ a }}", "values": []},
            ["membership.op: "],
            id="an unknown op with values",
        ),
        pytest.param(
            {"op": "like", "expression": "{{ a }}", "value": 1},
            ["comparison.op: "],
            id="an unknown op with a value",
        ),
        pytest.param({"op": "like", "expression": "{{ a }}"}, ["unary.op: "], id="an unknown op"),
        pytest.param("x", ["unary: "], id="no mapping"),
    ],
)
def test_what_is_wrong_is_said_of_one_form(given: Any, problems: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        FILTER.validate_python(given)

    said = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in caught.value.errors()]
    assert all(any(line.startswith(problem) for line in said) for problem in problems)
    assert {line.partition(".")[0].partition(":")[0] for line in said} == {
        problems[0].partition(".")[0].partition(":")[0]
    }


def test_a_text_of_a_document_is_a_text() -> None:
    made = FILTER.validate_python(
        {
            "op": Authored("in"),
            "expression": Authored("{{ x }}"),
            "values": [Authored("a"), 1, True],
        }
    )

    assert isinstance(made, FilterMembership)
    assert made.values == ["a", 1, True]
    assert made.matches({"x": "a"})


def test_an_expression_without_braces_is_warned_about() -> None:
    made = FILTER.validate_python({"op": "exists", "expression": "sample.a"})
    other = FILTER.validate_python({"op": "exists", "expression": "{{ sample.a }}"})

    assert made.warnings() == [
        "expression has no {{ }}: it is `sample.a` for every sample; write `{{ sample.a }}`"
    ]
    assert other.warnings() == []
    assert made.matches({})


def test_an_error_says_what_came() -> None:
    made = FILTER.validate_python({"op": "is_true", "expression": "{{ sample.x }}"})

    with pytest.raises(TypeError, match="`is_true` expected true or false, got `'no'`"):
        made.matches({"sample": {"x": "no"}})


def test_a_filter_is_written_as_it_was_read() -> None:
    given = {"op": "in", "expression": "{{ x }}", "values": ["a", 2, False]}

    assert FILTER.dump_python(FILTER.validate_python(given), mode="json") == given
