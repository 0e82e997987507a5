"""Normalize strings for comparison: Unicode form, case, punctuation, articles, whitespace.

    to_nfc            convert to Unicode form NFC: `é` is always one code point
    fold              convert to NFC and optionally fold case
    drop_punctuation  remove Unicode punctuation and the ASCII symbols of `string.punctuation`
    drop_articles     remove the English words `a`, `an` and `the`
    drop_whitespace   remove all whitespace

Does not:   remove accents or Arabic vowel marks, map digits or full-width letters to ASCII, or
            remove the articles of other languages.
"""

import re
from string import punctuation
from unicodedata import category, normalize

_ARTICLES = re.compile(r"\b(?:a|an|the)\b", re.IGNORECASE)
_ASCII_SYMBOLS = frozenset(punctuation)


def to_nfc(text: str) -> str:
    """Return the text in Unicode form NFC."""
    return text if text.isascii() else normalize("NFC", text)


def fold(text: str, *, ignore_case: bool) -> str:
    """Return the text in Unicode form NFC, case-folded if case is ignored."""
    return to_nfc(to_nfc(text).casefold()) if ignore_case else to_nfc(text)


def drop_punctuation(text: str) -> str:
    """Return the text without punctuation of any script; nothing is inserted instead."""
    return "".join(char for char in text if not _is_punctuation(char))


def _is_punctuation(char: str) -> bool:
    return char in _ASCII_SYMBOLS or category(char).startswith("P")


def drop_articles(text: str) -> str:
    """Return the text without English articles, and with single spaces between words."""
    return " ".join(_ARTICLES.sub(" ", text).split())


def drop_whitespace(text: str) -> str:
    """Return the text without whitespace."""
    return "".join(text.split())
