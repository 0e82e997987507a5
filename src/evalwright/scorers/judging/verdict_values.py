"""Readers of verdicts: one of several labels, any short text, or a number on a scale.

    8    8.5    "8"    **8**    8/10    8 out of 10

are numbers on a scale up to 10. A number on a different scale, with a decimal comma, in words or in
percent is not accepted, because converting it would mean guessing what the judge meant.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from evalwright.scorers.judging.markup import (
    parse_named_line,
    remove_direction_marks,
    strip_all,
    strip_quotes,
)
from evalwright.scorers.judging.verdicts import UnreadableReply, VerdictReader

MOST_CHARACTERS = 200
MOST_WORDS = 8
"""Maximum length of a label that a judge may choose freely."""
_REFUSAL = re.compile(
    r"(?:i'?m |i am |so |very )*sorry\b|i can'?t\b|i cannot\b|i(?:'m| am) (?:not able|unable)\b|"
    r"unable to\b|i won't\b|as an ai\b|i refuse\b|عذرًا|عذرا|آسف|أعتذر|لا أستطيع|لا يمكنني|"
    r"es tut mir leid|tut mir leid|entschuldigung|ich kann (?:das |es |dies )?nicht|"
    r"je suis désolée?|désolée?\b|je ne peux pas|lo siento|no puedo|mi dispiace|"
    r"抱歉|对不起|我无法|我不能|申し訳"
)

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
_ON_SCALE = re.compile(rf"({_NUMBER})(?:\s*(?:/|out of)\s*({_NUMBER}))?", re.IGNORECASE)
_BOLD = re.compile(r"[*_`]")


def plain_label(text: str) -> str:
    """Normalize a label: composed, one apostrophe, single spaces, no direction marks."""
    plain = unicodedata.normalize("NFC", remove_direction_marks(text)).replace("\u2019", "'")
    return " ".join(plain.split())


def fold_label(text: str) -> str:
    """Normalize a label for a comparison without case."""
    return plain_label(text).casefold()


def bare_label(label: str) -> str:
    """Normalize a label and remove quotes, bold and final punctuation."""
    return strip_quotes(plain_label(label))


class LabelSet:
    """Labels that match in any case; labels that differ only in case must match exactly."""

    def __init__(self, labels: Iterable[str]) -> None:
        self._exact: dict[str, str] = {}
        self._folded: dict[str, list[str]] = {}
        for label in labels:
            if plain_label(label) not in self._exact:
                self._exact[plain_label(label)] = label
                self._folded.setdefault(fold_label(label), []).append(label)

    def find(self, text: str) -> str | None:
        """Return the matching label; ValueError if the case of the text leaves it ambiguous."""
        if label := self._exact.get(plain_label(text)):
            return label
        candidates = self._folded.get(fold_label(text), [])
        if len(candidates) > 1:
            names = " and ".join(f"`{label}`" for label in candidates)
            why = f"`{text}` differs only in case from {names}"
            raise UnreadableReply("ambiguous_case", why)
        return candidates[0] if candidates else None

    def has(self, text: str) -> bool:
        """Whether the text is unambiguously one of the labels."""
        return plain_label(text) in self._exact or len(self._folded.get(fold_label(text), ())) == 1

    def is_prefix(self, label: str) -> bool:
        """Whether a longer label starts with this one."""
        own = fold_label(label)
        return any(other != own and other.startswith(own) for other in self._folded)


def _spell(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class LabelReader(VerdictReader[str]):
    """Reads one of these labels and returns it in the author's spelling."""

    def __init__(
        self, labels: Sequence[str], *, keys: tuple[str, ...], fallback_keys: tuple[str, ...] = ()
    ) -> None:
        self.keys, self.fallback_keys = keys, fallback_keys
        self._labels = LabelSet(labels)
        self.expected = f"one of {', '.join(f'`{label}`' for label in labels)}"

    def parse_text(self, text: str) -> str | None:
        """Return the label that the text matches."""
        return self._labels.find(text)

    def parse_json(self, value: Any) -> str:
        """Return the label that is spelled like the JSON value, or raise ValueError."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str | int) and (label := self.parse_text(_spell(value))):
            return label
        raise UnreadableReply("not_a_verdict", f"`{value}` is not one of the labels")

    def is_final(self, verdict: str) -> bool:
        """Whether no other label starts with this one."""
        return not self._labels.is_prefix(verdict)


class FreeLabelReader(VerdictReader[str]):
    """Reads any short single-line text that is not a refusal."""

    reads_bare_lines = False  # every line of a longer reply could be a label
    expected = f"a label: one line of at most {MOST_WORDS} words"

    def __init__(self, *, keys: tuple[str, ...]) -> None:
        self.keys = keys

    def parse_text(self, text: str) -> str | None:
        """Return the text without surrounding marks; ValueError if it is too long or a refusal."""
        text = remove_direction_marks(text).strip()
        if "\n" in text:
            return None
        label = strip_all(parse_named_line(text) or text)
        if not any(map(str.isalnum, label)) or label.startswith(("{", "[", "<")):
            return None
        if len(label) > MOST_CHARACTERS:
            raise UnreadableReply(
                "not_a_verdict", f"a label has at most {MOST_CHARACTERS} characters"
            )
        if _REFUSAL.match(fold_label(label)):
            raise UnreadableReply("refusal", "it refused")
        if len(label.split()) > MOST_WORDS:
            raise UnreadableReply("not_a_verdict", f"a label has at most {MOST_WORDS} words")
        return label

    def parse_json(self, value: Any) -> str:
        """Return a string, a number or a boolean as text, or raise ValueError."""
        if isinstance(value, str | int | float) and (label := self.parse_text(_spell(value))):
            return label
        why = f"`{value}` is not a label: expected one line of text"
        raise UnreadableReply("not_a_verdict", why)


class NumberReader(VerdictReader[float]):
    """Reads a number from `lowest` to `highest`. No number is final: 1 may be the start of 10."""

    keys = ("score", "rating")

    def __init__(self, lowest: float, highest: float) -> None:
        self._lowest, self._highest = lowest, highest
        self.expected = f"a number from {lowest:g} to {highest:g}"

    def parse_text(self, text: str) -> float | None:
        """Return the number in the text; ValueError if it is not on the scale."""
        match = _ON_SCALE.fullmatch(_BOLD.sub("", text).strip())
        if match is None:
            return None
        if match[2] is not None and float(match[2]) != self._highest:
            why = f"`{match[0]}` is on a scale up to {match[2]}, not {self._highest:g}"
            raise UnreadableReply("off_scale", why)
        return self._check_scale(float(match[1]))

    def parse_json(self, value: Any) -> float:
        """Return a JSON number; ValueError if the value is not a number on the scale."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UnreadableReply("not_a_verdict", f"`{value}` is not a number")
        try:
            return self._check_scale(float(value))
        except OverflowError:
            raise UnreadableReply("off_scale", "the number is too large") from None

    def _check_scale(self, number: float) -> float:
        if not math.isfinite(number):
            raise UnreadableReply("off_scale", f"`{number}` is not a finite number")
        if not self._lowest <= number <= self._highest:
            scale = f"[{self._lowest:g}, {self._highest:g}]"
            raise UnreadableReply("off_scale", f"`{number:g}` is outside {scale}")
        return number
