"""Declared types: what fits, what it becomes, and what is a bad row."""

import math
from typing import Any

import pytest

from evalwright.datasets.column_types import CONVERSIONS, ColumnType, ColumnTypes

BAD = object()

CASES: dict[ColumnType, list[tuple[Any, Any]]] = {
    "string": [("007", "007"), (" x ", " x "), ("", ""), (7, BAD), (True, BAD), ([], BAD)],
    "int": [
        *(("42", 42), (" 42 ", 42), ("-7", -7), ("+7", 7), ("007", 7), ("3.0", 3), (3.0, 3)),
        *(("3.5", BAD), (3.5, BAD), ("1,000", BAD), ("4e2", BAD), ("٣", BAD), ("", BAD)),
        *(("9" * 18, int("9" * 18)), ("9" * 19, BAD), (True, BAD), ("true", BAD), (None, None)),
    ],
    "float": [
        *(("2.5", 2.5), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), (3, 3.0), ("-0.1", -0.1)),
        *(("nan", BAD), ("inf", BAD), ("1,5", BAD), ("3 km", BAD), (False, BAD)),
    ],
    "bool": [("true", True), ("FALSE", False), (True, True), ("yes", BAD), ("1", BAD), (1, BAD)],
    "date": [
        *(("2026-03-01", "2026-03-01"), (" 2026-03-01", "2026-03-01"), ("2024-02-29",) * 2),
        *(("2026-02-29", BAD), ("01.03.2026", BAD), ("03/01/2026", BAD), ("20260301", BAD)),
        *(("2026-03-01T00:00:00", BAD), (20260301, BAD), ("2026-W09-7", BAD)),
    ],
    "datetime": [
        ("2026-03-01T09:00:00Z", "2026-03-01T09:00:00+00:00"),
        ("2026-03-01 09:00", "2026-03-01T09:00:00"),
        ("2026-03-01T09:00:00.5+02:00", "2026-03-01T09:00:00.500000+02:00"),
        *(("2026-03-01", BAD), ("2026-03-01T25:00", BAD), (1772355600, BAD)),
    ],
    "list": [("[1, 2]", [1, 2]), ([1], [1]), ("{}", BAD), ("1;2", BAD), ({}, BAD)],
    "object": [('{"a": 1}', {"a": 1}), ({}, {}), ("[]", BAD), ([], BAD), ("{'a': 1}", BAD)],
    "json": [("null", None), ("[1]", [1]), (7, 7), ('"x"', "x"), ("x", BAD)],
}


def test_values_are_converted_to_their_type_or_do_not_fit() -> None:
    wrong: list[Any] = []
    for kind, cases in CASES.items():
        for value, expected in cases:
            row = {"x": value}
            problem = ColumnTypes({"x": kind}).convert(row)
            got = BAD if problem else row["x"]
            if problem and row["x"] is not value:
                wrong.append((kind, value, "a value that does not fit was changed"))
            if got is not expected and (got != expected or type(got) is not type(expected)):
                wrong.append((kind, value, got))

    assert wrong == []
    assert CASES.keys() == CONVERSIONS.keys()


@pytest.mark.parametrize("missing", [{}, {"x": None}, {"x": math.nan}], ids=["key", "null", "nan"])
def test_missing_values_fit_every_type(missing: dict[str, Any]) -> None:
    assert [kind for kind in CONVERSIONS if ColumnTypes({"x": kind}).convert({**missing})] == []


def test_the_problem_names_each_column_and_the_value() -> None:
    row = {"age": "forty", "joined": "سنة", "note": "x" * 99, "done": [1]}
    types = ColumnTypes({"age": "int", "joined": "date", "note": "float", "done": "bool"})

    assert types.convert(row) == (
        "`age`: expected an integer, got `forty`; "
        "`joined`: expected a date such as `2026-03-01`, got `سنة`; "
        f"`note`: expected a number, got `{'x' * 40}…`; "
        "`done`: expected `true` or `false`, got a list"
    )
