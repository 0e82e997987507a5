r"""A reply without what says nothing: marks of direction, fences, bold, quotes, brackets, emoji.

    **Correct**.   "correct"   [[correct]]   (correct)   \boxed{correct}   ✅ correct   correct</s>

All of these are `correct`. Which of several readings of one text is a verdict, the reader says: a
label may have a mark of its own (`C#`, `(A)`), so the text as it stands is asked first.
"""

import re
import unicodedata
from collections.abc import Iterator

_UNSEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_FENCE = re.compile(r"(?:```|~~~)[\w+-]*")
_END_TOKENS = re.compile(r"(?:\s*(?:<\|[\w ]{1,30}\|>|</?s>|<eos>|<end_of_turn>|<pad>))+\s*$")
_LINE_MARKS = re.compile(r"\s*(?:[#>]+\s+)+")
_LIST_MARK = re.compile(r"\s*(?:[-*•+–]|\d{1,3}[.)])\s+(?=\S)")
_BOXED = re.compile(r"\$*\\boxed\{\s*(?:\\text\{)?([^{}]*)\}{1,2}\$*")
_BRACKETS = re.compile(r"\[\[([^\[\]]*)\]\]|\[([^\[\]]*)\]|\(([^()]*)\)")
_WIDE = str.maketrans(
    {"\uff1a": ": ", "\uff0c": ", ", "\uff1b": "; ", "\uff01": "! ", "\uff1f": "? "}
    | {"\uff08": " (", "\uff09": ") ", "\u060c": ", ", "\u061b": "; ", "\u061f": "? "}
)
"""Marks of Chinese and Arabic, which need no space behind them."""
MARKS = "\"'`*“”\u2018\u2019«»„_"
"""Quotes and bold."""
_MARKUP = f" \t{MARKS}"
_ENDS = ".!。"


def unmarked(text: str) -> str:
    """Without marks of direction and spaces of no width; joiners are part of a word, and stay."""
    return _UNSEEN.sub("", text)


def straight(text: str) -> str:
    """With the marks of other scripts as the Latin ones: `判断\uff1a正确` as `判断: 正确`."""
    return unmarked(text).translate(_WIDE)


def unfenced(text: str) -> str:
    """Without the lines that open and close code."""
    return _FENCE.sub("", text)


def ended(text: str) -> str:
    """Without the tokens by which a model says that it is done, which some servers pass on."""
    tail = text[-200:]
    return text[: len(text) - len(tail)] + _END_TOKENS.sub("", tail)


def unlisted(line: str) -> str:
    """Without the mark of a heading, of a quotation or of an item of a list."""
    start = _LINE_MARKS.match(line)
    line = line[start.end() :] if start else line
    mark = _LIST_MARK.match(line)
    return line[mark.end() :] if mark else line


def is_item(line: str) -> bool:
    """Whether it is an item of a list, a heading or a row of a table: these end without a mark."""
    return bool(_LIST_MARK.match(line) or _LINE_MARKS.match(line)) or line.lstrip().startswith("|")


def bare(text: str) -> str:
    """Without the marks of a heading or a quotation, quotes, bold and a last period."""
    start = _LINE_MARKS.match(text)
    plain = text[start.end() :] if start else text
    return plain.strip(_MARKUP).rstrip(_ENDS).strip(_MARKUP)


def readings(text: str) -> Iterator[str]:
    """A short text as it stands, then with ever less around it."""
    yield text
    yield bare(text)
    plain = bare(_without_signs(bare(unlisted(text))))
    yield plain
    if boxed := _BOXED.fullmatch(plain):
        yield bare(boxed[1])
    if inner := _BRACKETS.fullmatch(plain):
        yield bare(inner[1] or inner[2] or inner[3] or "")


def words(text: str) -> str:
    """Prose, if there is any; fences and punctuation are none."""
    plain = _FENCE.sub(" ", text)
    return plain.strip() if any(map(str.isalnum, plain)) else ""


def _without_signs(text: str) -> str:
    """Without emoji at its ends."""
    start, end = 0, len(text)
    while start < end and _is_sign(text[start]):
        start += 1
    while end > start and _is_sign(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_sign(char: str) -> bool:
    return char in " \ufe0f\u200d" or unicodedata.category(char) in ("So", "Sk")
