"""The difference between two texts, word by word.

    Paris is the [-capitol-]{+capital+} of France.

Promises:   the parts of each side, joined, are that side; long texts are compared in linear time.
Does not:   find moved text, or the smallest difference of long texts: beyond 2,000 words, what is
            between the common start and the common end counts as replaced.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_WORDS = 2_000
_CONTEXT = 60
"""Characters of an equal part that stay beside a change."""


class DiffPart(NamedTuple):
    """A piece of text: in both, only in A, or only in B."""

    kind: Literal["equal", "removed", "added"]
    text: str


def diff_words(a: str, b: str) -> list[DiffPart]:
    """Return the parts in order; where words were replaced, the removed ones come first."""
    words_a, words_b = _WORDS.findall(a), _WORDS.findall(b)
    start = _common_length(words_a, words_b)
    end = _common_length(words_a[start:][::-1], words_b[start:][::-1])
    middle_a, middle_b = (words[start : len(words) - end] for words in (words_a, words_b))
    parts = [DiffPart("equal", "".join(words_a[:start]))]
    if max(len(middle_a), len(middle_b)) > _MOST_WORDS:
        parts += [DiffPart("removed", "".join(middle_a)), DiffPart("added", "".join(middle_b))]
    else:
        parts += _diff_middle(middle_a, middle_b)
    parts.append(DiffPart("equal", "".join(words_a[len(words_a) - end :])))
    return [part for part in parts if part.text]


def _common_length(a: Sequence[str], b: Sequence[str]) -> int:
    pairs = zip(a, b, strict=False)
    return next(
        (place for place, (left, right) in enumerate(pairs) if left != right), min(len(a), len(b))
    )


def _diff_middle(a: Sequence[str], b: Sequence[str]) -> Iterator[DiffPart]:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    for tag, low_a, high_a, low_b, high_b in matcher.get_opcodes():
        if tag == "equal":
            yield DiffPart("equal", "".join(a[low_a:high_a]))
        else:
            yield DiffPart("removed", "".join(a[low_a:high_a]))
            yield DiffPart("added", "".join(b[low_b:high_b]))


def trim_parts(parts: Sequence[DiffPart], limit: int) -> list[DiffPart]:
    """Shorten long equal parts around the changes, and the whole to about `limit` characters."""
    trimmed: list[DiffPart] = []
    room = limit
    for place, (kind, text) in enumerate(parts):
        if kind == "equal" and len(text) > 2 * _CONTEXT:
            head = text[:_CONTEXT] if place else ""
            tail = text[-_CONTEXT:] if place < len(parts) - 1 else ""
            text = f"{head}…{tail}" if head or tail else f"{text[:_CONTEXT]}…"  # noqa: PLW2901
        if len(text) > room:
            trimmed.append(DiffPart(kind, f"{text[: max(room, 1)]}…"))
            break
        trimmed.append(DiffPart(kind, text))
        room -= len(text)
    return trimmed


def mark_parts(parts: Sequence[DiffPart]) -> str:
    """Write removed words as `[-…-]` and added words as `{+…+}`, as `git diff --word-diff` does."""
    marks = {"equal": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(marks[kind].format(text) for kind, text in parts)
