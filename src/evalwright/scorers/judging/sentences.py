"""A reply in statements: its lines, and of each line its sentences.

    ### Verdict             a title announces what the next line says
    correct
    Confidence: 0.9         an aside takes no place: the verdict is still the last thing said

Neither a new line nor a blank one makes a sentence of a part of one: `It is not`, then `correct`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from evalwright.scorers.judging.leads import (
    Kind,
    Led,
    introduces_another,
    is_aside,
    is_how_sure,
    is_open,
    is_told,
    led,
    led_at_the_end,
    titled,
)
from evalwright.scorers.judging.plain import is_item, unfenced

SENTENCE_END = re.compile(r"(?<=[.!?…])[*_\"'”)\]]*\s+|(?<=。)\s*")
_FINISHED = (".", "!", "?", ":", ";", "。", "…", ")")
_LONGEST_NAME, _MOST_WORDS = 40, 4


class Statement(NamedTuple):
    """A line, or a sentence of one."""

    whole: str
    kind: Kind
    given: str
    """Without what announces it."""
    is_line: bool
    """Whether it is all of its line."""
    is_aside: bool
    """Whether it says why, or how sure the judge is."""
    before: str
    """The line or sentence before it."""

    @property
    def is_led(self) -> bool:
        """Whether it is announced as a verdict or as an answer."""
        return self.kind in (Kind.ANSWER, Kind.VERDICT, Kind.SCORE)

    @property
    def is_quoted(self) -> bool:
        """Whether it is marked as a quotation."""
        return self.whole.startswith(">")

    @property
    def goes_on(self) -> bool:
        """Whether it is a part of the words before it: of a sentence, or of a quotation."""
        before = self.before.rstrip(" *_`\"'”")
        if not before:
            return False
        if before.endswith(":") and introduces_another(before):
            return True
        if before.endswith(_FINISHED):
            return self.kind is Kind.BARE and is_told(before)
        if self.kind is not Kind.BARE or _ends_by_itself(self.before):
            return is_open(before)
        return True


def _ends_by_itself(line: str) -> bool:
    """Whether it needs no mark at its end: an item, a bold line, or a pair: `Truth: Paris`."""
    name, _, value = line.partition(":")
    is_pair = len(name) <= _LONGEST_NAME and 0 < len(value.split()) <= _MOST_WORDS
    return is_pair or is_item(line) or line.startswith("**")


def statements(said: str) -> list[Statement]:
    """All that is said, in order; how sure the judge is, is left out."""
    made: list[Statement] = []
    title: Kind | None = None
    before = ""
    for line in unfenced(said).splitlines():
        text = line.strip()
        if not text or is_how_sure(text):
            continue
        kind = titled(text) if title is None else None
        if kind is not None:
            title = kind
            made.append(Statement(text, Kind.BARE, "", is_line=True, is_aside=True, before=before))
            continue
        made.extend(_of_line(text, title, before))
        title, before = None, text
    return made


def _of_line(line: str, title: Kind | None, before: str) -> Iterator[Statement]:
    if is_aside(line):
        yield Statement(line, Kind.BARE, "", is_line=True, is_aside=True, before=before)
        return
    sentences = _sentences(line)
    for place, one in enumerate(sentences):
        first, last = place == 0, place == len(sentences) - 1
        found = led(one)
        if found is None and (first or last):
            found = led_at_the_end(one)
        if title is not None and first and (found is None or found.kind in (Kind.OF_IT, Kind.SAID)):
            found = Led(title, one if found is None else found.given)
        kind, given = (Kind.BARE, one) if found is None else found
        yield Statement(one, kind, given, len(sentences) == 1, is_aside=False, before=before)
        before = one


def _sentences(line: str) -> list[str]:
    """The sentences of a line; the number of an item of a list is none."""
    made: list[str] = []
    for one in SENTENCE_END.split(line):
        if made and re.fullmatch(r"\W*\d{1,3}\.", made[-1]) and len(made) == 1:
            made[-1] = f"{made[-1]} {one}"
        elif one.strip():
            made.append(one)
    return made
