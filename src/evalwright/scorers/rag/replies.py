"""Read what the judge replied: tolerant of what stands around the JSON, strict about what is in it.

    {"verdicts": [{"claim": 1, "verdict": "entailed"}, {"claim": 2, "verdict": "neutral"}]}

Fences, thoughts and prose around it are passed over; a list without its object will do, and words
without their numbers, if there are as many as claims. Two lists that differ, one entry too few, a
number twice, a word that is none of the words, a list in prose that stands word for word in what
the judge was shown: each is a `NoVerdict` that quotes the judge, never a guess.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from json import JSONDecoder
from typing import Any, NamedTuple, TypeVar

from evalwright.scorers.base import short
from evalwright.scorers.judging.replies import NoVerdict, spoken
from evalwright.scorers.rag.claims import Claim, claims_from

Word = TypeVar("Word", bound=str)

_DECODER = JSONDecoder()
_MOST_VALUES = 2_000
_DIGITS = re.compile(r"[0-9]{1,6}")


class _Value(NamedTuple):
    value: Any
    written: str


def claims_in(reply: str, *, shown: str = "") -> tuple[Claim, ...]:
    """The claims that the judge has found; an empty list is an answer, too."""
    found = _list_in(reply, "claims", shown)
    try:
        return tuple(claims_from(found, "the list"))
    except ValueError as error:
        raise NoVerdict(str(error), reply) from None


def words_in(
    reply: str, count: int, *, key: str, words: Mapping[str, Word], shown: str = ""
) -> tuple[Word, ...]:
    """A word for each of `count` claims, under `{key}s`; `words` says what each spelling means."""
    entries = _list_in(reply, f"{key}s", shown)
    if len(entries) != count:
        raise NoVerdict(f"expected {count} {key}s, one a claim, got {len(entries)}", reply)
    found: dict[int, Word] = {}
    for place, entry in enumerate(entries, start=1):
        number, said = _entry(entry, place, key)
        word = words.get(said.strip().casefold()) if isinstance(said, str) else None
        if word is None:
            expected = ", ".join(f"`{one}`" for one in dict.fromkeys(words.values()))
            raise NoVerdict(f"{key} {place} must be one of {expected}, got {short(entry)}", reply)
        found[number] = word
    if found.keys() != set(range(1, count + 1)):
        raise NoVerdict(f"the {key}s must have the numbers 1 to {count}, each once", reply)
    return tuple(found[number] for number in range(1, count + 1))


def _entry(entry: Any, place: int, key: str) -> tuple[int, Any]:
    """The number of its claim, and what is said of it; a bare word is about the claim there."""
    if not isinstance(entry, dict):
        return place, entry
    number = entry.get("claim", place)
    if isinstance(number, str) and _DIGITS.fullmatch(number.strip()):
        number = int(number)
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    return (number if is_whole else 0), entry.get(key)


def _list_in(reply: str, name: str, shown: str) -> list[Any]:
    """The one list of that name; a list that stands alone needs none."""
    said = spoken(reply)
    values = list(islice(_values_in(said), _MOST_VALUES + 1))
    if len(values) > _MOST_VALUES:
        raise NoVerdict(f"its reply has more than {_MOST_VALUES:,} brackets and braces", reply)
    named = [
        _Value(one.value[name], one.written)
        for one in values
        if isinstance(one.value, dict) and name in one.value
    ]
    found = named or [one for one in values if isinstance(one.value, list)]
    if not found or not isinstance(found[0].value, list):
        raise NoVerdict(f"there is no list `{name}` in its reply", reply)
    if any(one.value != found[0].value for one in found):
        raise NoVerdict(f"there are two lists `{name}` in its reply", reply)
    written = found[0].written
    if _has_words(said.replace(written, "")) and _squeezed(written) in _squeezed(shown):
        raise NoVerdict(f"its list `{name}` may be a quotation of what it was shown", reply)
    return found[0].value


def _values_in(text: str) -> Iterator[_Value]:
    """Every JSON object and list in a text that is in no other; None for one that is broken."""
    at = 0
    while (start := _next(text, at)) >= 0:
        try:
            value, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, at = None, start + 1
        yield _Value(value, text[start:at])


def _next(text: str, at: int) -> int:
    places = (text.find(one, at) for one in "{[")
    return min((one for one in places if one >= 0), default=-1)


def _has_words(text: str) -> bool:
    """Whether there is prose; a fence and its language are none."""
    return any(map(str.isalnum, text.replace("```json", "")))


def _squeezed(text: str) -> str:
    return "".join(text.split())
