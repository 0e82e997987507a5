"""One figure against one threshold, in words: `0.813 ≥ 0.800, but the interval reaches down to …`.

Two numbers that are nearer than 1e-9 (of 1, or of the larger one) are equal, for every operator: a
mean that is 0.8 but for the last bit is not below 0.8. A figure without a value meets nothing.
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from evalwright.report.report import MetricRow

Operator = Literal[">", ">=", "=", "<", "<="]
TOLERANCE = 1e-9
FEW = 30
"""Fewer samples than these are told with a figure."""
_SIGNS = {">": ">", ">=": "≥", "=": "=", "<": "<", "<=": "≤"}
_FEWEST_DIGITS, _MOST_DIGITS = 3, 10  # the tables of a report have three
_FEWEST_OF_ALL, _MOST_OF_ALL = 4, 15
_SMALLEST, _LARGEST = 1e-4, 1e6
"""What is not between these is written with an exponent."""


class Verdict(NamedTuple):
    """Whether a figure meets a threshold, and why."""

    meets: bool
    reason: str
    margin: float
    """How far it is on the right side; below zero on the wrong one."""
    sure: float = 0.0
    """The same of the end of its interval that is nearest to failing."""


def compare(row: MetricRow, operator: Operator, threshold: float, *, strict: bool) -> Verdict:
    """Of a figure; with `strict`, its whole interval must meet, and no sample may be missing."""
    value = row.value
    if value is None or math.isnan(value):
        return Verdict(
            meets=False, reason=f"no value: {_why(row)}", margin=-math.inf, sure=-math.inf
        )
    meets = _meets(value, operator, threshold)
    parts = [_compared(row, value, operator, threshold), *left_out_of(row)]
    refused = list(_refused(row, operator, threshold)) if strict and meets else []
    ends = [one for one in (row.ci_low, row.ci_high) if one is not None]
    return Verdict(
        meets=meets and not refused,
        reason="; ".join([*parts, *refused]),
        margin=_margin(value, operator, threshold),
        sure=min(_margin(one, operator, threshold) for one in (value, *ends)),
    )


def present(row: MetricRow, *, strict: bool) -> Verdict:
    """Whether a figure has a value at all; with `strict`, one of all samples."""
    value = row.value
    if value is None or math.isnan(value):
        return Verdict(meets=False, reason=f"no value: {_why(row)}", margin=0.0)
    number = _numbers(value, row.ci_low, row.ci_high, threshold=None)
    refused = list(_missing(row)) if strict else []
    reason = "; ".join([f"{number[value]}{_interval(row, number)}", *left_out_of(row), *refused])
    return Verdict(meets=not refused, reason=reason, margin=0.0)


def left_out_of(row: MetricRow) -> Iterator[str]:
    """What a figure leaves out against its will, and of how few samples it is."""
    if row.failed:
        yield f"{row.failed} sample{'s'[: row.failed != 1]} failed, and {_is(row.failed)} not in it"
    if row.absent:
        has = "score has" if row.absent == 1 else "scores have"
        yield f"over {row.n} of {row.n + row.absent} samples: {row.absent} {has} no value"
    elif 0 < row.n < FEW:
        yield f"over {row.n} sample{'s'[: row.n != 1]}"


def reaches_over(row: MetricRow, operator: Operator, threshold: float) -> bool:
    """Whether an end of the interval is on the other side than the value."""
    if row.value is None or row.ci_low is None or row.ci_high is None:
        return False
    meets = _meets(row.value, operator, threshold)
    return any(_meets(one, operator, threshold) != meets for one in (row.ci_low, row.ci_high))


def said(operator: Operator) -> str:
    """An operator as people write it."""
    return _SIGNS[operator]


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _why(row: MetricRow) -> str:
    return row.reason or "nothing was measured"


def _refused(row: MetricRow, operator: Operator, threshold: float) -> Iterator[str]:
    """Why a figure that meets the threshold is not sure to."""
    if row.ci_low is None or row.ci_high is None:
        yield "without an interval, nobody can be sure of it"
    elif not all(_meets(one, operator, threshold) for one in (row.ci_low, row.ci_high)):
        yield "the whole interval must meet it"
    yield from _missing(row)


def _missing(row: MetricRow) -> Iterator[str]:
    if row.failed:
        yield "no sample may fail"
    if row.absent:
        yield "no score may be without a value"


def _meets(value: float, operator: Operator, threshold: float) -> bool:
    if math.isclose(value, threshold, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        return operator in {">=", "=", "<="}
    return operator in ({">", ">="} if value > threshold else {"<", "<="})


def _margin(value: float, operator: Operator, threshold: float) -> float:
    if operator == "=":
        return -abs(value - threshold)
    return value - threshold if operator in {">", ">="} else threshold - value


def _compared(row: MetricRow, value: float, operator: Operator, threshold: float) -> str:
    number = _numbers(value, row.ci_low, row.ci_high, threshold=threshold)
    meets = _meets(value, operator, threshold)
    sign = _SIGNS[operator] if meets else _actual(value, threshold)
    told = f"{number[value]} {sign} {number[threshold]}"
    return f"{told}{_reach(row, operator, threshold, number) or _interval(row, number)}"


def _actual(value: float, threshold: float) -> str:
    """How a figure that does not meet the threshold stands to it."""
    if _meets(value, "=", threshold):
        return "="
    return ">" if value > threshold else "<"


def _reach(row: MetricRow, operator: Operator, threshold: float, number: dict[float, str]) -> str:
    """An interval that reaches over to the other side, where the value does not stand."""
    if row.ci_low is None or row.ci_high is None or row.value is None:
        return ""
    meets = _meets(row.value, operator, threshold)
    for end, way in ((row.ci_low, "down"), (row.ci_high, "up")):
        if _meets(end, operator, threshold) != meets:
            return f", but the interval reaches {way} to {number[end]}"
    if not meets and operator == "=" and row.ci_low <= threshold <= row.ci_high:
        return f", but the interval has it: [{number[row.ci_low]}, {number[row.ci_high]}]"
    return ""


def _interval(row: MetricRow, number: dict[float, str]) -> str:
    if row.ci_low is None or row.ci_high is None:
        return ", without an interval"
    return f", interval [{number[row.ci_low]}, {number[row.ci_high]}]"


def _numbers(*values: float | None, threshold: float | None) -> dict[float, str]:
    """Each as it is written: with so many digits that what is not equal does not look equal."""
    known = [one for one in (*values, threshold) if one is not None]
    largest = max(map(abs, known))
    form, digits = "f", range(_fewest(threshold), _MOST_DIGITS + 1)
    if largest >= _LARGEST or 0 < largest < _SMALLEST:
        form, digits = "g", range(_FEWEST_OF_ALL, _MOST_OF_ALL + 1)
    for count in digits:
        made = {one: f"{one:z.{count}{form}}" for one in known}
        if threshold is None or all(
            made[one] != made[threshold] or _meets(one, "=", threshold) for one in known
        ):
            return made
    return {one: repr(one) for one in known}


def _fewest(threshold: float | None) -> int:
    """Digits after the point: as many as the threshold has."""
    if threshold is None:
        return _FEWEST_DIGITS
    written = f"{threshold:.{_MOST_DIGITS}f}".rstrip("0").partition(".")[2]
    return max(_FEWEST_DIGITS, len(written))
