"""The verdict that is said in words: in the first or the last statement of a reply.

    Verdict: correct    announced, it counts at the end whatever the prose before it weighs up
    correct, because    bare, or said of the answer, it counts if nothing beside it speaks against

Against it speaks another label, what takes it back or denies it, and that the answer has said the
same.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, NamedTuple

from evalwright.scorers.judging.leads import (
    Kind,
    announced_in,
    goes_on_in,
    heads,
    is_taken_back,
)
from evalwright.scorers.judging.plain import bare, straight
from evalwright.scorers.judging.readers import Reader, Unclear, Value, Verdict, only, spelt
from evalwright.scorers.judging.sentences import Statement, statements

_STRONG = (Kind.VERDICT, Kind.SCORE)


class Found(NamedTuple, Generic[Value]):
    """A statement that is a verdict."""

    place: int
    value: Value
    text: str
    """The verdict as it was written."""
    reason: str
    said: Statement


def verdict_of_statements(said: str, reader: Reader[Value], shown: Sequence[str]) -> Verdict[Value]:
    """The verdict of the first or the last statement."""
    lines = statements(said)
    found = _ruling([*_candidates(lines, reader)])
    if not found:
        raise Unclear(f"expected {reader.expected}")
    verdict = only([one.value for one in found])
    first, last = _ends_of(lines)
    places = {one.place for one in found}
    if not places & {first, last}:
        raise Unclear("its verdict is neither the first nor the last thing that it says")
    final = found[-1]
    wins = final.place == last and final.said.is_led
    beside = [
        line.whole
        for place, line in enumerate(lines)
        if place not in places and (place > last or not wins)
    ]
    is_led = any(one.said.is_led for one in found)
    reasons = [one.reason for one in found if one.reason]
    prose = [*beside, *reasons]
    if another := reader.another(prose, verdict, is_led=is_led):
        raise Unclear(f"it says {spelt(verdict)}, and beside it {another}")
    after = lines[final.place + 1 :]
    behind = [final.reason, *(line.whole for line in after if not line.is_aside)]
    if taken_back := is_taken_back("\n".join(behind)):
        raise Unclear(f"it says {spelt(verdict)}, and may take it back: `{taken_back}`")
    if denial := reader.denied(prose, verdict):
        raise Unclear(f"it says {spelt(verdict)}, and beside it {denial}")
    if _quotes(found, shown, reader):
        raise Unclear("its verdict may be a quotation: the line stands in what it was shown")
    return Verdict(verdict, {}, closed=False, alone=False)


def _candidates(lines: list[Statement], reader: Reader[Value]) -> Iterator[Found[Value]]:
    """What is announced anywhere; what is bare or said of the answer, at the ends alone."""
    ends = _ends_of(lines)
    for place, line in enumerate(lines):
        if line.is_aside or line.goes_on or not (line.is_led or place in ends):
            continue
        if place < len(lines) - 1 and (line.is_quoted or goes_on_in(lines[place + 1].whole)):
            continue
        if line.kind in reader.announced_by or (line.kind is Kind.BARE and reader.stands_out):
            found = read(line, place, reader)
            if found is not None:
                yield found


def read(line: Statement, place: int, reader: Reader[Value]) -> Found[Value] | None:
    """The verdict that a statement is, by itself or with its reason."""
    for text, reason in heads(line.given):
        try:
            value = reader.bare(text)
        except ValueError as error:
            if line.kind in reader.announced_by:
                raise Unclear(str(error)) from None
            return None
        if value is None or (not line.is_line and not line.is_led and not reader.alone(text)):
            continue
        return Found(place, value, text, reason, line)
    return None


def _ruling(found: list[Found[Value]]) -> list[Found[Value]]:
    """Without what is only called an answer, where a verdict is announced."""
    strong = any(one.said.kind in _STRONG for one in found)
    weak = (Kind.SAID, Kind.ANSWER) if strong else ()
    return [one for one in found if one.said.kind not in weak]


def _ends_of(lines: list[Statement]) -> tuple[int, int]:
    """The places of the first and the last thing said, asides aside."""
    places = [place for place, line in enumerate(lines) if not line.is_aside]
    return (places[0], places[-1]) if places else (-1, -1)


def _quotes(found: list[Found[Any]], shown: Sequence[str], reader: Reader[Any]) -> bool:
    """Whether somebody else has written it: the announcement, or the answer that it names."""
    texts = [straight(text) for text in shown]
    verdicts = {one.text.casefold() for one in found if one.said.kind in _STRONG}
    if any(announced_in(text, verdict) for text in texts for verdict in verdicts):
        return True
    theirs = {bare(line).casefold() for text in texts for line in text.splitlines()}
    return any(_is_among(theirs, one, reader) for one in found)


def _is_among(theirs: set[str], found: Found[Any], reader: Reader[Any]) -> bool:
    said, kind = found.said, found.said.kind
    is_theirs = bare(said.whole).casefold() in theirs
    if said.given != said.whole and is_theirs:
        return True
    if kind in (Kind.ANSWER, Kind.SAID):
        return found.text.casefold() in theirs
    is_shown = said.before.startswith("#") or said.before.endswith(":")
    return kind is Kind.BARE and is_theirs and (is_shown or not reader.alone(found.text))
