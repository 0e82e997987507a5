from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, chat, score

from evalwright.scorers.equals_number import find_numbers

TOTAL = {"type": "equals_number", "ground_truth": "{{ sample.total }}"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("42", [42], id="an integer"),
        pytest.param("2 + 3 = 5.", [2, 3, 5], id="several, and a full stop"),
        pytest.param("3.50", [3.5], id="a decimal"),
        pytest.param(".5 and -.25", [0.5, -0.25], id="no zero before the point"),
        pytest.param("1,234,567.5", [1234567.5], id="thousands"),
        pytest.param("1,2,3", [1, 2, 3], id="a list"),
        pytest.param("12,3456", [12, 3456], id="no group of three"),
        pytest.param("1\u00a0234", [1234], id="a no-break space"),
        pytest.param("1\u202f234\u202f567", [1234567], id="a narrow no-break space"),
        pytest.param("1 234", [1, 234], id="a plain space separates numbers"),
        pytest.param("1'234 1\u2019234", [1234, 1234], id="apostrophes"),
        pytest.param("1_000", [1000], id="an underscore"),
        pytest.param("1,234'567", [1234, 567], id="two kinds are not mixed"),
        pytest.param("-5", [-5], id="a minus"),
        pytest.param("\u22125", [-5], id="a typographic minus"),
        pytest.param("-$1,200.50", [-1200.5], id="a minus before the currency"),
        pytest.param("$5 €6 7% 8km", [5, 6, 7, 8], id="units"),
        pytest.param("10-20", [10, 20], id="a range"),
        pytest.param("COVID-19", [19], id="a hyphen after a letter"),
        pytest.param("5 - 3", [5, 3], id="a subtraction"),
        pytest.param("1.5e3 2E-2 3e\u22122", [1500, 0.02, 0.03], id="exponents"),
        pytest.param("\u0663\u066b\u0665", [3.5], id="Arabic digits"),
        pytest.param("\u0661\u066c\u0662\u0663\u0664", [1234], id="Arabic thousands"),
        pytest.param("الجواب هو ٤٢.", [42], id="Arabic"),
        pytest.param("答案是-42。", [-42], id="no space before the number"),
        pytest.param("**$18**", [18], id="bold"),
        pytest.param("\\boxed{18}", [18], id="LaTeX"),
        pytest.param("no number", [], id="none"),
        pytest.param("", [], id="empty"),
        pytest.param("½ ²", [], id="characters that are no digits"),
        pytest.param("9" * 1001 + " 1", [1], id="more digits than are compared"),
    ],
)
def test_numbers_are_found(text: str, numbers: list[float]) -> None:
    assert find_numbers(text) == [Decimal(str(number)) for number in numbers]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("1.234,5", [1234.5], id="thousands and decimals"),
        pytest.param("3,5", [3.5], id="decimals"),
        pytest.param("1.234", [1234], id="thousands"),
        pytest.param("-0,25 €", [-0.25], id="currency"),
    ],
)
def test_the_decimal_separator_may_be_a_comma(text: str, numbers: list[float]) -> None:
    assert find_numbers(text, decimal=",") == [Decimal(str(number)) for number in numbers]


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-1e12, max_value=1e12)
)
def test_a_number_is_found_as_python_prints_it(number: Decimal) -> None:
    assert find_numbers(f"It is {number:,f}.") == [number]


@pytest.mark.parametrize(
    ("answer", "target", "is_correct", "error"),
    [
        pytest.param("It costs $1,234.50.", 1234.5, True, 0, id="equal"),
        pytest.param("First 3, then 5", 5, True, 0, id="the last number"),
        pytest.param("5, not 3", 5, False, 2, id="only the last number"),
        pytest.param("5.001", 5, False, 0.001, id="a little off"),
        pytest.param("0.30", "0.3", True, 0, id="as decimals"),
        pytest.param("-5", 5, False, 10, id="the sign counts"),
        pytest.param("five", 5, False, None, id="no number"),
        pytest.param("", 5, False, None, id="an empty answer"),
        pytest.param("٤٢", 42, True, 0, id="Arabic digits"),
        pytest.param("42", "$42 per month", True, 0, id="a ground truth with a unit"),
        pytest.param("1e999", 1, False, None, id="an error beyond floats"),
    ],
)
def test_the_last_number_is_compared(
    answer: str, target: Any, error: float | None, *, is_correct: bool
) -> None:
    found = score(TOTAL, {"total": target}, chat(answer))

    assert found.values == {"is_correct": is_correct, "absolute_error": error}
    assert found.correct is is_correct
    assert bool(found.reason) is not is_correct


@pytest.mark.parametrize(
    ("tolerances", "answer", "is_correct"),
    [
        pytest.param({"tolerance": 0.1}, "100.1", True, id="at the limit"),
        pytest.param({"tolerance": 0.1}, "100.11", False, id="beyond it"),
        pytest.param({"relative_tolerance": 0.01}, "99", True, id="1 %"),
        pytest.param({"relative_tolerance": 0.01}, "98.9", False, id="more than 1 %"),
        pytest.param({"tolerance": 2, "relative_tolerance": 0.01}, "102", True, id="the wider"),
    ],
)
def test_a_number_within_a_tolerance_is_correct(
    tolerances: dict[str, float], answer: str, *, is_correct: bool
) -> None:
    assert score({**TOTAL, **tolerances}, {"total": 100}, chat(answer)).correct is is_correct


def test_the_ground_truth_has_a_point_whatever_the_value_has() -> None:
    fields = {**TOTAL, "decimal_separator": ","}

    assert score(fields, {"total": 1234.5}, chat("1.234,5 €")).correct


@pytest.mark.parametrize(("target", "count"), [("many", "none"), ("3/4", "2"), ("", "none")])
def test_a_ground_truth_that_is_not_one_number_is_an_error(target: str, count: str) -> None:
    with pytest.raises(ValueError, match=f"`ground_truth` must .* exactly one number, got {count}"):
        score(TOTAL, {"total": target}, chat("5"))


@pytest.mark.parametrize(
    "fields",
    [{"tolerance": -1}, {"relative_tolerance": float("inf")}, {"decimal_separator": ";"}],
)
def test_what_is_no_tolerance_or_separator_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({**TOTAL, **fields})
