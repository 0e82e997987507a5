"""JSON objects in a reply, by a real decoder, and the verdict that they give.

They may stand in fences, in prose, in lists. What stands before an object does not speak against
it, unless it says that the object is another's; what stands behind it does, if it is a verdict.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalwright.scorers.judging.leads import Kind, announces, introduces_another, is_taken_back
from evalwright.scorers.judging.plain import straight, unfenced, words
from evalwright.scorers.judging.readers import (
    Reader,
    Unclear,
    Value,
    Verdict,
    attempt,
    only,
    spelt,
)
from evalwright.scorers.judging.said import read
from evalwright.scorers.judging.sentences import SENTENCE_END, statements

_MOST_OBJECTS = 200
_CONTINUES = re.compile(r"\s*[,;]|\s+(?:but|which|though|except)\b")
_BEGINS_AN_OBJECT = re.compile(r'\{\s*"')


class Embedded(NamedTuple):
    """An object, and where it stands."""

    start: int
    end: int
    value: dict[str, Any]


class Twice(dict[str, Any]):
    """An object in which a key stands twice, with different values."""


def objects_in(said: str) -> Iterator[Embedded]:
    """Every object that is in no other; ValueError for what only begins like one.

    A line break in a text is let pass, which is not legal and cannot be mistaken.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, strict=False)
    place = said.find("{")
    for _ in range(_MOST_OBJECTS):
        if place < 0:
            return
        end = place + 1
        try:
            value, end = decoder.raw_decode(said, place)
            yield Embedded(place, end, value)
        except (ValueError, RecursionError):
            if _BEGINS_AN_OBJECT.match(said, place):
                raise ValueError("its JSON is broken off or not legal") from None
        place = said.find("{", end)
    if place >= 0:
        raise ValueError(f"its reply has more than {_MOST_OBJECTS} braces")


def named(value: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    """What stands under the keys, in their order; case does not tell keys apart."""
    folded = [(name.strip().casefold(), one) for name, one in value.items()]
    return [one for key in keys for name, one in folded if name == key]


def given_by(value: dict[str, Any], reader: Reader[Value]) -> list[Any]:
    """What an object gives as its verdict, the key that rules first."""
    if given := named(value, reader.keys):
        return given
    return [one for one in named(value, reader.also) if _is_one(one, reader)]


def _is_one(given: Any, reader: Reader[Any]) -> bool:
    try:
        reader.value(given)
    except ValueError:
        return False
    return True


def verdict_of_objects(
    said: str, judging: list[Embedded], reader: Reader[Value], shown: Sequence[str]
) -> Verdict[Value]:
    """The verdict that all of the objects give; `Unclear` says why there is none."""
    if any(isinstance(one.value, Twice) for one in judging):
        raise Unclear("its JSON has a key twice, with different values")
    given = [given_by(one.value, reader) for one in judging]
    ruling = [one[0] for one in given]
    others = [value for one in given for value in one[1:] if _is_one(value, reader)]
    verdict = only([attempt(reader.value, value) for value in (*ruling, *others)])
    first, last = judging[0], judging[-1]
    before, behind = said[: first.start], said[last.end :]
    if another := _said_behind(behind, reader, verdict):
        raise Unclear(f"its JSON says {spelt(verdict)}, its words beside it {another}")
    if _in_a_sentence(before, behind):
        raise Unclear("its JSON stands in the middle of a sentence")
    if _is_introduced(straight(unfenced(before))):
        raise Unclear("its JSON may be a quotation: it is introduced as another's words")
    if taken_back := is_taken_back(behind):
        raise Unclear(f"its JSON may be taken back: `{taken_back}`")
    alone = not words(_outside(said, judging))
    if not alone and any(_stands_in(said[one.start : one.end], shown) for one in judging):
        raise Unclear("its JSON may be a quotation: it stands in what the judge was shown")
    return Verdict(verdict, last.value, closed=True, alone=alone)


def _said_behind(behind: str, reader: Reader[Value], verdict: Value) -> str:
    """Another verdict that stands behind an object, bare or announced."""
    another = ""
    said = [one for one in statements(words(straight(behind))) if not one.is_aside]
    kinds = reader.announced_by | ({Kind.BARE} if reader.stands_out else set())
    for one in said:
        if one.kind in kinds:
            found = read(one, 0, reader)
            if found is not None and found.value != verdict:
                return spelt(found.value)
            if one.kind in (Kind.OF_IT, Kind.SAID):
                another = another or reader.another([one.whole], verdict, is_led=False)
    return another or reader.denied([one.whole for one in said], verdict)


def _in_a_sentence(before: str, behind: str) -> bool:
    """Whether words go on behind it, on its line; not where it was announced as the verdict."""
    rest = behind.partition("\n")[0]
    if not words(rest):
        return False
    if _CONTINUES.match(rest):
        return True
    sentence = SENTENCE_END.split(before.rpartition("\n")[2].strip())[-1]
    return bool(words(before)) and not announces(sentence)


def _is_introduced(before: str) -> bool:
    """Whether the words before an object say that it is another's: on its line, or with a colon."""
    line = before.rstrip().rpartition("\n")[2].rstrip(" *_`\"'[(")
    on_its_line = before.rpartition("\n")[2].strip() != ""
    if not (on_its_line or line.endswith(":")) or line.endswith((".", "!", "?", "。", "…")):
        return False
    return introduces_another(line)


def _outside(said: str, objects: list[Embedded]) -> str:
    places = [0, *(place for one in objects for place in (one.start, one.end)), len(said)]
    pairs = zip(places[::2], places[1::2], strict=True)
    return " ".join(said[start:end] for start, end in pairs)


def _stands_in(text: str, shown: Sequence[str]) -> bool:
    wanted = "".join(text.split())
    return any(wanted in "".join(one.split()) for one in shown)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    same = len(made) == len(pairs) or all(made[name] == value for name, value in pairs)
    return made if same else Twice(made)
