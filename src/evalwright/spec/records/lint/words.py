r"""Split prompts into words for comparisons.

    "What is (2+3.5) * 4?"   →  what is ( 2 + 3.5 ) * 4      exact: ( 2 + 3.5 ) * 4
    "“Don't”, she said."     →  don t she said               exact: nothing
    "2位と3位"                →  2 位 と 3 位                   exact: 2 3

Case, quotes and sentence punctuation are ignored; numbers and symbols are not. In scripts without
spaces, every character is a word.

Does not:   stem words, or recognize that `1,000` equals `1000`.
"""

import re
import unicodedata
from typing import NamedTuple

# Characters of numbers and formulas. `!` after a number may be a factorial.
_NUMBER = r"\d+(?:[.,]\d+)*!*"
_SYMBOL = r"[#$%&()*+/<=>@\[\\\]^{|}~-]"
_ASCII = re.compile(rf"{_NUMBER}|[a-z]+|{_SYMBOL}".encode())
_ASCII_EXACT = re.compile(rf"{_NUMBER}|{_SYMBOL}".encode())

# The same beyond ASCII, where words are all characters except spaces, numbers, punctuation and
# symbols, so that combining marks (Arabic and Indic vowels) and emoji are parts of words.
_SYMBOLS = (
    rf"(?:{_SYMBOL}|[\xa2-\xa9\xac\xae-\xb6\xb8\xd7\xf7\u2030-\u2038\u2044"
    r"\u20a0-\u20cf\u2190-\u2bff])"
)
_NOT_A_WORD = (
    r"\s\d\x00-\x40\x5b-\x60\x7b-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u060c\u061b\u061f\u0964"
    r"\u0965\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u3000-\u303f"
)
_UNSPACED = (  # Thai, Lao, Burmese, Khmer, kana, Han
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_ANY = re.compile(rf"{_NUMBER}|[{_UNSPACED}]|[^{_NOT_A_WORD}{_UNSPACED}]+|{_SYMBOLS}")
_ANY_EXACT = re.compile(rf"{_NUMBER}|{_SYMBOLS}")


class PromptWords(NamedTuple):
    """The words of a text in UTF-8."""

    all: list[bytes]
    exact: bytes
    """Only the numbers and symbols, joined by spaces."""


def split_words(text: str) -> PromptWords:
    """Return the words of a text, in order."""
    if text.isascii():
        small = text.lower().encode()
        return PromptWords(_ASCII.findall(small), b" ".join(_ASCII_EXACT.findall(small)))
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = [word.encode(errors="replace") for word in _ANY.findall(plain)]
    return PromptWords(words, " ".join(_ANY_EXACT.findall(plain)).encode())
