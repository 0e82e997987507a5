"""Numbers as verdicts: on a scale, and only as digits.

    8    8.5    "8"    8/10    **8**/10    8 out of 10    8 (out of 10)    8 points

on a scale up to 10. A number of another scale, with a decimal comma, in words or in percent, is
none: to guess what the judge meant would be to score in its place. Announced is a number by a
score, a rating, a grade, a verdict; `The answer is 4` says what the answer is, not how good.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

from evalwright.scorers.judging.leads import Kind, led
from evalwright.scorers.judging.plain import bare, unlisted, unmarked

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
_UNIT = r"(?:points?|pts|stars?|punkte?n?|sterne?n?|نقاط|نقطة|درجات|分|星)"
_WHOLE = re.compile(
    rf"({_NUMBER})(?:\s*(?:/|\(?\s*out of|of)\s*({_NUMBER})\s*\)?)?(?:\s*{_UNIT})?", re.IGNORECASE
)
_ANY = re.compile(rf"(?<![\w.]){_NUMBER}(?![\w.]*\d)")
_SECOND = re.compile(
    r"(?!.*\b(?:max|maximum|highest|possible|perfect|full|min|minimum|lowest|passing)\b)"
    r"(?:[^\W\d]+[\s-]+){0,4}?(?:score|rating|grade|bewertung|wertung|punktzahl)\b"
    rf"[\s*_`]*(?:\bis\b|[:=]|[-–—]\s)[\s*_`:]*(?P<number>{_NUMBER})(?![\w.]*\d)",
    re.IGNORECASE,
)
"""`Style score: 3`, but not `The maximum score is 10`."""
_BOLD = re.compile(r"[*_`]+")
_MARKS = "\"'`*“”\u2018\u2019«»_ \t"


class Numbers:
    """A number from `lowest` to `highest`."""

    keys = ("score", "rating")
    also: tuple[str, ...] = ()
    stands_out = True
    announced_by = frozenset({Kind.SCORE})

    def __init__(self, lowest: float, highest: float) -> None:
        self._lowest, self._highest = lowest, highest
        self.expected = f"a number from {lowest:g} to {highest:g}"

    def value(self, given: Any) -> float:
        """A finite number of the scale, or a text that is one."""
        if isinstance(given, str):
            announced = led(given)
            is_led = announced is not None and announced.kind in self.announced_by
            text = bare(announced.given) if announced is not None and is_led else given
            if (found := self.bare(text)) is not None:
                return found
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise ValueError(f"`{given}` is no number")  # noqa: TRY004 - a reply is a value
        try:
            return self._on_the_scale(float(given))
        except OverflowError:
            raise ValueError("its number is beyond all scales") from None

    def bare(self, text: str) -> float | None:
        """The number that the text is."""
        plain = _BOLD.sub("", unmarked(text)).strip(_MARKS).rstrip(".!").strip(_MARKS)
        whole = _WHOLE.fullmatch(plain)
        if whole is None:
            return None
        if whole[2] is not None and float(whole[2]) != self._highest:
            raise ValueError(f"`{whole[0]}` is of a scale up to {whole[2]}, not {self._highest:g}")
        return self._on_the_scale(float(whole[1]))

    def alone(self, text: str) -> bool:
        """`8/10` is; `1.` may be the first item of a list."""
        return "/" in text or "out of" in text

    def ends(self, verdict: float) -> bool:
        """Never: of 10, the first digit is 1."""
        del verdict
        return False

    def another(self, prose: Sequence[str], verdict: float, *, is_led: bool) -> str:
        """Any other number; beside an announced verdict, one that is called a score, too."""
        for line in prose:
            if is_led:
                found = _SECOND.match(bare(unlisted(line)))
                if found is not None and float(found["number"]) != verdict:
                    return f"`{found[0]}`"
                continue
            for found in _ANY.finditer(unlisted(line)):
                if float(found[0]) != verdict:
                    return f"`{found[0]}`"
        return ""

    def denied(self, prose: Sequence[str], verdict: float) -> str:
        """No word is another number."""
        del prose, verdict
        return ""

    def _on_the_scale(self, number: float) -> float:
        if not math.isfinite(number):
            raise ValueError(f"`{number}` is no finite number")
        if not self._lowest <= number <= self._highest:
            scale = f"[{self._lowest:g}, {self._highest:g}]"
            raise ValueError(f"`{number:g}` is outside {scale}")
        return number
