"""`equals_number`: correct if the last number in the value equals the ground truth.

    scorers:
      - type: equals_number
        ground_truth: "{{ sample.total }}"
        tolerance: 0.01                     # all of these are optional
        relative_tolerance: 0.001
        decimal_separator: ","

A number may have a sign, thousands separators and an exponent: `-$1,234.50`, `1'234`, `6.02e23`.
Thousands are groups of three digits. They may be separated by a no-break space, but not by an
ordinary space. Digits from any script are accepted. A minus sign after a letter or a digit is
treated as a hyphen: the last number in `10-20` is 20. Units and percent signs are ignored.
Fractions (the last number in `3/4` is 4), powers of ten (`2 × 10^5`) and numbers written as words
are not supported.

The ground truth must contain exactly one number, written with a decimal point; otherwise, the
sample fails. A value without a number is incorrect. Numbers are compared as decimals, without
rounding. If both tolerances are set, a value within either of them is correct. `absolute_error` is
the difference; it is `null` if the value contains no number. This scorer is an evalwright
extension.
"""

import re
from decimal import Context, Decimal
from math import isfinite
from typing import ClassVar, Literal

from msgspec import structs
from pydantic import Field

from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference, short
from evalwright.scorers.matching import score_match
from evalwright.types import Score

Separator = Literal[".", ","]
_SPACES_AND_QUOTES = "\u00a0\u2009\u202f'\u2019_\u066c"
_EXACT = Context(prec=4000)
"""Enough digits for the difference of any two numbers with exponents of up to three digits."""
_MOST_DIGITS = 1000


def _compile_number(decimal: Separator, thousands: str) -> re.Pattern[str]:
    groups = rf"\d{{1,3}}(?:(?P<separator>[{thousands}{_SPACES_AND_QUOTES}])\d{{3}}(?!\d))"
    more = r"(?:(?P=separator)\d{3}(?!\d))*"
    fraction = rf"[{decimal}\u066b]\d+"
    return re.compile(
        # A hyphen after a letter or a digit is not a minus sign.
        r"(?P<sign>(?<![\dA-Za-z_)\]%])[-\u2212])?(?:(?<=[-\u2212])[$€£¥₹])?"
        rf"(?P<digits>(?:{groups}{more}|\d+)(?:{fraction})?|(?<!\d){fraction})"
        r"(?P<exponent>[eE][-+\u2212]?\d{1,3}(?!\d))?"
    )


_NUMBER: dict[Separator, re.Pattern[str]] = {
    ".": _compile_number(".", ","),
    ",": _compile_number(",", "."),
}


class EqualsNumber(ComparisonScorer):
    """Scores `is_correct` and `absolute_error`: the last number compared with the ground truth."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct", "absolute_error")
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {
        "absolute_error": (0, None)
    }
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["equals_number"]
    tolerance: float = Field(default=0, ge=0, allow_inf_nan=False)
    """Largest difference at which the value still counts as correct."""
    relative_tolerance: float = Field(default=0, ge=0, allow_inf_nan=False)
    """Largest difference as a share of the ground truth: with 0.01, the value may be 1 % off."""
    decimal_separator: Separator = "."
    """Decimal separator of the value. With `,`, the point separates thousands."""

    async def score(self, case: Case) -> Score:
        """Compare the last number with the ground truth."""
        actual, expected = self.render_pair(case)
        target = _parse_ground_truth(expected)
        numbers = find_numbers(actual, decimal=self.decimal_separator)
        if not numbers:
            reason = f"there is no number in {short(actual)}"
            score = score_match(actual, expected, is_correct=False, reason=reason)
            return structs.replace(score, values={**score.values, "absolute_error": None})
        error = abs(_EXACT.subtract(numbers[-1], target))
        relative = _EXACT.multiply(Decimal(str(self.relative_tolerance)), abs(target))
        is_correct = error <= max(Decimal(str(self.tolerance)), relative)
        reason = explain_difference(numbers[-1], target)
        score = score_match(actual, expected, is_correct=is_correct, reason=reason)
        size = float(error)
        values = {**score.values, "absolute_error": size if isfinite(size) else None}
        return structs.replace(score, values=values)


def find_numbers(text: str, *, decimal: Separator = ".") -> list[Decimal]:
    """Return the numbers in a text, in order, except numbers of more than 1,000 digits."""
    matches = _NUMBER[decimal].finditer(text)
    return [_parse(match, decimal) for match in matches if len(match[0]) <= _MOST_DIGITS]


def _parse(match: re.Match[str], decimal: Separator) -> Decimal:
    digits = match["digits"]
    if separator := match["separator"]:
        digits = digits.replace(separator, "")
    digits = digits.replace("\u066b", ".").replace(decimal, ".")
    sign = "-" if match["sign"] else ""
    exponent = (match["exponent"] or "").replace("\u2212", "-")
    return Decimal(f"{sign}{digits}{exponent}")


def _parse_ground_truth(text: str) -> Decimal:
    numbers = find_numbers(text)
    if len(numbers) != 1:
        count = len(numbers) or "none"
        raise ValueError(
            f"`ground_truth` must contain exactly one number, got {count} in {short(text)}"
        )
    return numbers[0]
