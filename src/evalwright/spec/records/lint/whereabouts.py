"""Where a target stands in a prompt, and what it is doing there.

    "2 + 2 = 4?"              `4` stands there, given away
    "Is 4 more than 3?"       `4` stands there
    "yes or no?"              `no` stands there as a choice
    "17 + 4", "14", "4.5"     `4` does not stand there: it is reckoned with, or is another number

Both are given in lower case with single spaces.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_NEARBY = 40
_MOST_PLACES = 1000
_QUOTES = r"[\"'\u2018-\u201d«»()\[\]*`]*"
_CHOICE_BEFORE = re.compile(rf"(?:\bor|/|\|)\s*{_QUOTES}$")
_CHOICE_AFTER = re.compile(rf"{_QUOTES},?\s*(?:or\b|/|\|)")
_ROW_BEFORE = re.compile(r"\d\s*(?:[,;、]|and\b|or\b)\s*(?:and\b|or\b)?\s*$")
_ROW_AFTER = re.compile(r"\s*(?:[,;、]|and\b|or\b)\s*(?:and\b|or\b)?\s*\d")
_GIVEN_AWAY_BEFORE = re.compile(
    rf"(?:\b(?:answer|solution)(?:\s+is)?\s*[:=]?|[\d)\]]\s*=)\s*{_QUOTES}$"
)
_END = re.compile(r"[\W_]*$")
_OPERAND_AFTER = re.compile(r"(?:[\w)\]]\s*[+*/×÷−^%·-]\s*|-)$")
_OPERAND_BEFORE = re.compile(r"\s*[+*/×÷−^%·-]\s*[\w(\[]")
_PART_AFTER = re.compile(r"\d[.,]$")
_PART_BEFORE = re.compile(r"[.,]\d")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


class Whereabouts(NamedTuple):
    """What a target does in a prompt."""

    stands: bool = False
    is_choice: bool = False
    given_away: bool = False


def whereabouts(text: str, target: str) -> Whereabouts:
    """Look at every place of a target: one as a choice is enough, as is one that gives it away."""
    stands = given_away = False
    for start in _places(text, target):
        before = text[max(0, start - _NEARBY) : start]
        after = text[start + len(target) : start + len(target) + _NEARBY]
        if _is_choice(before, after, target):
            return Whereabouts(stands=True, is_choice=True)
        stands = True
        ends = len(after) < _NEARBY and _END.match(after)
        given_away = given_away or bool(ends or _GIVEN_AWAY_BEFORE.search(before))
    return Whereabouts(stands, given_away=given_away)


def _places(text: str, target: str) -> Iterator[int]:
    """Yield where the target stands as whole words; one letter is too little to look for."""
    if not any(map(str.isalnum, target)) or (len(target) == 1 and not target.isdigit()):
        return
    start = text.find(target)
    for _ in range(_MOST_PLACES):
        if start < 0:
            return
        if _is_whole(text, start, start + len(target)):
            yield start
        start = text.find(target, start + 1)


def _is_whole(text: str, start: int, end: int) -> bool:
    if _joins(text[start - 1 : start], text[start]) or _joins(text[end : end + 1], text[end - 1]):
        return False
    if not (text[start].isdigit() and text[end - 1].isdigit()):
        return True
    before, after = text[max(0, start - _NEARBY) : start], text[end : end + _NEARBY]
    return not (
        _PART_AFTER.search(before)
        or _PART_BEFORE.match(after)
        or _OPERAND_AFTER.search(before)
        or _OPERAND_BEFORE.match(after)
    )


def _joins(neighbour: str, edge: str) -> bool:
    """Whether a character beside the target is of the same word."""
    if not neighbour or _UNSPACED.match(edge) or _UNSPACED.match(neighbour):
        return False
    return neighbour.isalnum() or neighbour == "_" or unicodedata.category(neighbour)[0] == "M"


def _is_choice(before: str, after: str, target: str) -> bool:
    if _CHOICE_BEFORE.search(before) or _CHOICE_AFTER.match(after):
        return True
    is_number = target[0].isdigit() and target[-1].isdigit()
    return is_number and bool(_ROW_BEFORE.search(before) or _ROW_AFTER.match(after))
