"""The "did you mean" of every error message: the legal name closest to a misspelt one.

    metrc_name  → metric_name      one letter missing
    Exact-Match → exact_match      case, `-` and spaces do not count
    rogue_l     → rouge_l          two neighbours swapped
    metric      → metric_name      cut short, and no other name starts like it
    f1_score    → f1               grown, and no other name does it start with
    multiple_choice → nothing      among the categories: a wrong hint is worse than none

It stands on the path of every bad line of a file, so it must cost microseconds: candidates fall to
their length and their letters first, and a distance is computed only for the few that remain.

Does not:   know synonyms.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_MOST_EDITS = 3
_LETTERS_AN_EDIT = 3
_SHORTEST_START = 2
_LONGEST_WORD = 64
"""Longer words are no misspelt names; they are not remembered either."""


def nearest(word: str, candidates: Sequence[str]) -> str | None:
    """Return the candidate that `word` most likely stands for; None when none is close.

    Close is one edit for every three letters of the longer word (a last group of two counts),
    three at most. An edit is a letter inserted, dropped or replaced, or two neighbours swapped.
    Of equals, the first.
    """
    return _nearest(word, tuple(candidates)) if len(word) <= _LONGEST_WORD else None


def suggest(word: str, candidates: Sequence[str]) -> str:
    """Return the hint "did you mean `name`?"; empty when no candidate is close."""
    name = nearest(word, candidates)
    return f"did you mean `{name}`?" if name else ""


@lru_cache(maxsize=1024)
def _nearest(word: str, candidates: tuple[str, ...]) -> str | None:
    plain = _plain(word)
    known = _known(candidates)
    return known.names.get(plain) or _misspelt(plain, known) or _cut_or_grown(plain, known)


def _plain(word: str) -> str:
    return word.strip().casefold().replace("-", "_").replace(" ", "_")


class _Near(NamedTuple):
    """A candidate, as seen from words of one length."""

    name: str
    plain: str
    letters: frozenset[str]
    edits: int
    """How many make the two close."""


class _Known(NamedTuple):
    """The candidates, by plain form and by the length of the words they may be close to."""

    names: dict[str, str]
    near: dict[int, list[_Near]]


@lru_cache(maxsize=64)
def _known(candidates: tuple[str, ...]) -> _Known:
    names: dict[str, str] = {}
    near: dict[int, list[_Near]] = {}
    for name in candidates:
        plain = _plain(name)
        names.setdefault(plain, name)
        for length in range(len(plain) - _MOST_EDITS, len(plain) + _MOST_EDITS + 1):
            edits = min(_MOST_EDITS, (max(length, len(plain)) + 1) // _LETTERS_AN_EDIT)
            if abs(length - len(plain)) <= edits:
                near.setdefault(length, []).append(_Near(name, plain, frozenset(plain), edits))
    return _Known(names, near)


def _misspelt(word: str, known: _Known) -> str | None:
    letters = frozenset(word)
    best, most = None, _MOST_EDITS
    for name, plain, other_letters, close in known.near.get(len(word), ()):
        allowed = min(most, close)
        if (
            len(letters - other_letters) <= allowed  # an edit adds one letter at most
            and len(other_letters - letters) <= allowed
            and (edits := _edits(word, plain, allowed)) <= allowed
        ):
            best, most = name, edits - 1
            if not most:
                break
    return best


def _edits(one: str, other: str, most: int) -> int:
    """Count the edits between two words, up to `most`; any larger number means more.

    The optimal string alignment distance, after the start and the end that both words share are
    cut off. Of its table only a band is filled: x columns off the diagonal and back again costs
    x edits each way, less the difference in length (Ukkonen 1985).
    """
    one, other = _unshared(one, other)
    width = len(other)
    if not one or not other or len(one) == width == 1:
        return max(len(one), width)
    far = most + 1
    left, right = (most - width + len(one)) // 2, (most + width - len(one)) // 2
    before: list[int] = []
    above = list(range(width + 1))
    for row, letter in enumerate(one, start=1):
        here = [row] + [far] * width
        for column in range(max(1, row - left), min(width, row + right) + 1):
            wanted = other[column - 1]
            if letter == wanted:
                here[column] = above[column - 1]
                continue
            edits = min(above[column - 1], above[column], here[column - 1])
            if before and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                edits = min(edits, before[column - 2])
            here[column] = edits + 1
        if min(here) > most:
            return far
        before, above = above, here
    return above[width]


def _unshared(one: str, other: str) -> tuple[str, str]:
    """Cut off the start and the end that two words share."""
    shorter = min(len(one), len(other))
    start = 0
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[start : len(one) - end], other[start : len(other) - end]


def _cut_or_grown(word: str, known: _Known) -> str | None:
    """Return the only candidate that starts with the word, or that the word starts with."""
    found = [
        name
        for plain, name in known.names.items()
        if min(len(plain), len(word)) >= _SHORTEST_START
        and (plain.startswith(word) or word.startswith(plain))
    ]
    return found[0] if len(found) == 1 else None
