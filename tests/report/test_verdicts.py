from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.report.report import MetricRow
from evalwright.report.verdicts import Operator, compare, present

NUMBERS = st.floats(-1e6, 1e6)
OPERATORS: tuple[Operator, ...] = (">", ">=", "=", "<", "<=")


def row(value: float | None, interval: tuple[float, float] | None = None, **more: Any) -> MetricRow:
    low, high = interval or (None, None)
    facts: dict[str, Any] = {
        "task": "t",
        "model": "m",
        "scorer": "s",
        "metric": "accuracy",
        "n": 100,
        "failed": 0,
        "excluded": 0,
        "purpose": "score",
        "reason": "",
        "interval": "wilson" if interval else None,
    }
    return MetricRow(value=value, ci_low=low, ci_high=high, **{**facts, **more})


@pytest.mark.parametrize(
    ("value", "interval", "operator", "threshold", "meets", "reason"),
    [
        (0.91, (0.87, 0.94), ">=", 0.8, True, "0.910 ≥ 0.800, interval [0.870, 0.940]"),
        (
            0.81,
            (0.77, 0.85),
            ">=",
            0.8,
            True,
            "0.810 ≥ 0.800, but the interval reaches down to 0.770",
        ),
        (
            0.79,
            (0.7, 0.86),
            ">=",
            0.8,
            False,
            "0.790 < 0.800, but the interval reaches up to 0.860",
        ),
        (0.5, (0.4, 0.6), ">=", 0.8, False, "0.500 < 0.800, interval [0.400, 0.600]"),
        (0.8, (0.8, 0.9), ">", 0.8, False, "0.800 = 0.800, but the interval reaches up to 0.900"),
        (3.0, None, "<=", 3, True, "3.000 ≤ 3.000, without an interval"),
        (3.1, (2.5, 3.7), "<", 3, False, "3.100 > 3.000, but the interval reaches down to 2.500"),
        (2.0, (1.5, 3.7), "<", 3, True, "2.000 < 3.000, but the interval reaches up to 3.700"),
        (1.0, (1.0, 1.0), "=", 1, True, "1.000 = 1.000, interval [1.000, 1.000]"),
        (0.9, (0.8, 1.1), "=", 1, False, "0.900 < 1.000, but the interval has it: [0.800, 1.100]"),
        (1.0, (0.8, 1.0), "=", 1, True, "1.000 = 1.000, but the interval reaches down to 0.800"),
        (0.7999, None, ">=", 0.8, False, "0.7999 < 0.8000, without an interval"),
        (0.8, None, ">=", 0.8125, False, "0.8000 < 0.8125, without an interval"),
        (-0.5, (-0.6, -0.4), ">", -1, True, "-0.500 > -1.000, interval [-0.600, -0.400]"),
        (1e-15, None, ">", 1e-3, False, "0.000 < 0.001, without an interval"),
        (2.5e-6, None, "<", 1e-5, True, "2.5e-06 < 1e-05, without an interval"),
        (1e-5, (0.0, 2e-5), ">", 0, True, "1e-05 > 0, but the interval reaches down to 0"),
        (12_345_678.0, None, ">=", 1e7, True, "1.235e+07 ≥ 1e+07, without an interval"),
        (10_000_001.0, None, ">", 1e7, True, "10000001 > 10000000, without an interval"),
    ],
)
def test_a_comparison_is_told_with_its_interval(
    value: float,
    interval: tuple[float, float] | None,
    operator: Operator,
    threshold: float,
    meets: bool,  # noqa: FBT001 - a column
    reason: str,
) -> None:
    verdict = compare(row(value, interval), operator, threshold, strict=False)

    assert (verdict.meets, verdict.reason) == (meets, reason)


@pytest.mark.parametrize("value", [None, float("nan")])
@pytest.mark.parametrize("operator", OPERATORS)
def test_without_a_value_no_threshold_is_met(operator: Operator, value: float | None) -> None:
    verdict = compare(row(value, reason="there are no scores"), operator, 0, strict=False)

    assert (verdict.meets, verdict.reason) == (False, "no value: there are no scores")
    assert not present(row(value), strict=False).meets


@given(st.floats(-1e6, 1e6), st.sampled_from([-1.0, 0.0, 1.0]))
def test_what_is_nearer_than_the_last_digits_is_equal(value: float, away: float) -> None:
    near = row(value + away * 1e-10)

    met = [one for one in OPERATORS if compare(near, one, value, strict=False).meets]
    assert met == [">=", "=", "<="]


@given(NUMBERS, NUMBERS)
def test_a_figure_is_above_below_or_equal(value: float, threshold: float) -> None:
    met = {one for one in OPERATORS if compare(row(value), one, threshold, strict=False).meets}

    assert len(met & {"<", "=", ">"}) == 1
    assert (">=" in met) == bool(met & {">", "="})
    assert ("<=" in met) == bool(met & {"<", "="})


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(OPERATORS))
def test_who_meets_strictly_meets(
    value: float, one: float, other: float, threshold: float, operator: Operator
) -> None:
    figure = row(value, (min(value, one, other), max(value, one, other)))

    if compare(figure, operator, threshold, strict=True).meets:
        assert compare(figure, operator, threshold, strict=False).meets


@given(NUMBERS, NUMBERS, NUMBERS)
def test_what_is_not_equal_does_not_look_equal(value: float, other: float, limit: float) -> None:
    figure = row(value, (min(value, other), max(value, other)))
    verdict = compare(figure, ">=", limit, strict=False)
    said, sign, threshold = verdict.reason.replace(",", "").split()[:3]

    equal = compare(row(value), "=", limit, strict=False).meets
    assert equal or said != threshold
    assert sign == ("≥" if verdict.meets else "<")


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        pytest.param(
            row(0.81, (0.77, 0.85)),
            "0.810 ≥ 0.800, but the interval reaches down to 0.770; "
            "the whole interval must meet it",
            id="an interval that reaches over",
        ),
        pytest.param(
            row(0.9),
            "0.900 ≥ 0.800, without an interval; without an interval, nobody can be sure of it",
            id="no interval",
        ),
        pytest.param(
            row(0.9, (0.85, 0.95), n=1, absent=19),
            "0.900 ≥ 0.800, interval [0.850, 0.950]; over 1 of 20 samples: 19 scores have no "
            "value; no score may be without a value",
            id="scores without a value",
        ),
        pytest.param(
            row(0.9, (0.85, 0.95), failed=12),
            "0.900 ≥ 0.800, interval [0.850, 0.950]; 12 samples failed, and are not in it; "
            "no sample may fail",
            id="failed samples",
        ),
    ],
)
def test_strictly_a_figure_does_not_meet_with(figure: MetricRow, reason: str) -> None:
    verdict = compare(figure, ">=", 0.8, strict=True)

    assert (verdict.meets, verdict.reason) == (False, reason)


def test_failed_samples_are_told() -> None:
    one = compare(row(0.9, (0.85, 0.95), failed=1), ">=", 0.8, strict=False)

    assert one.meets
    assert one.reason == "0.900 ≥ 0.800, interval [0.850, 0.950]; 1 sample failed, and is not in it"
    assert present(row(0.9, failed=2), strict=False).meets
    assert not present(row(0.9, failed=2), strict=True).meets
    assert not present(row(0.9, absent=1), strict=True).meets


@pytest.mark.parametrize(
    ("n", "absent", "words"),
    [
        (1, 0, "; over 1 sample"),
        (29, 0, "; over 29 samples"),
        (30, 0, ""),
        (0, 0, ""),
        (40, 1, "; over 40 of 41 samples: 1 score has no value"),
    ],
)
def test_few_samples_and_missing_values_are_told(n: int, absent: int, words: str) -> None:
    verdict = present(row(0.9, n=n, absent=absent), strict=False)

    assert verdict.meets
    assert verdict.reason == f"0.900, without an interval{words}"
