"""Remove markup around a verdict: quotes, emphasis, list markers, fences, invisible characters."""

import re

_DIRECTION_MARKS = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~)[\w+-]*[ \t]*$", re.MULTILINE)
_END_TOKENS = re.compile(r"(?:\s*(?:<\|[\w ]{1,30}\|>|</?s>|<eos>|<end_of_turn>|<pad>))+\s*$")
_LONGEST_END = 200
_MOST_LEVELS = 10
_LINE_MARKS = re.compile(r"\s*(?:(?:#{1,6}|[>*•])\s+|(?:[-–+]|\d{1,3}[.)])\s+(?=\D))*")
"""Markers of headings, quotations and list items, except `-` (`- 4` may be negative) and `1.`."""
_NAMED = re.compile(
    r"[\s*_`]*(?:verdict|score|label|answer|rating)[\s*_`]*[:\uff1a](?P<value>.*\w.*)",
    re.IGNORECASE | re.DOTALL,
)
_EMPHASIS = "*_`"
_FINAL_PUNCTUATION = ".!。！۔"  # noqa: RUF001 - Chinese punctuation
_QUOTES = {
    pair[0]: pair[1] for pair in ('""', "''", "“”", "\u2018\u2019", "„“", "«»", "「」", "『』")
}
_BRACKETS = {"[": "]", "(": ")", "【": "】", "\uff08": "\uff09"}


def remove_direction_marks(text: str) -> str:
    """Remove invisible characters, except joiners, which are part of a word."""
    return _DIRECTION_MARKS.sub("", text)


def remove_fences(text: str) -> str:
    """Remove the lines that open and close a code block."""
    return _FENCE_LINE.sub("", text)


def remove_end_tokens(text: str) -> str:
    """Remove end-of-turn tokens, which some servers include in replies."""
    tail = text[-_LONGEST_END:]
    return text[: len(text) - len(tail)] + _END_TOKENS.sub("", tail)


def parse_named_line(line: str) -> str | None:
    """Return X from a line `Verdict: X`, `Score: X`, `Label: X`, `Answer: X` or `Rating: X`."""
    match = _NAMED.fullmatch(_remove_line_marks(line))
    return None if match is None else match["value"].strip()


def strip_levels(text: str) -> list[str]:
    """Return the text, then the text after removing each further layer of surrounding marks."""
    levels = [text]
    stripped = _strip_marks(_remove_line_marks(text))
    if stripped and stripped != text:
        levels.append(stripped)
    for _ in range(_MOST_LEVELS):
        stripped = _strip_marks(_remove_pair(levels[-1], _QUOTES | _BRACKETS))
        if not stripped or stripped == levels[-1]:
            break
        levels.append(stripped)
    return levels


def strip_all(text: str) -> str:
    """Return the text without surrounding marks."""
    return strip_levels(text)[-1]


def strip_quotes(text: str) -> str:
    """Remove quotes, emphasis and final punctuation, but not brackets."""
    stripped = _strip_marks(text)
    while stripped and (inner := _strip_marks(_remove_pair(stripped, _QUOTES))) != stripped:
        stripped = inner
    return stripped or text


def has_words(text: str) -> bool:
    """Whether there is a letter or a digit outside the fence lines."""
    return any(map(str.isalnum, remove_fences(text)))


def _strip_marks(text: str) -> str:
    around = f"{_EMPHASIS} \t\r\n"
    return text.strip(around).rstrip(_FINAL_PUNCTUATION).strip(around)


def _remove_pair(text: str, pairs: dict[str, str]) -> str:
    """Remove a pair around the whole text: one pair from `[[A]]`, none from `(A) or (B)`."""
    opening, inner, closing = text[:1], text[1:-1], text[-1:]
    if len(text) < len("()") or pairs.get(opening) != closing:
        return text
    if opening == closing:
        return text if opening in inner else inner
    return text if inner.find(closing) < inner.find(opening) else inner


def _remove_line_marks(text: str) -> str:
    return _LINE_MARKS.sub("", text, count=1)
