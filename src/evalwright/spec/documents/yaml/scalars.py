"""Parse plain YAML words by the core schema of YAML 1.2.

    true  False  NULL  ~  12  -3  0o17  0x1F  1e3  .5  .inf  .NaN      values
    yes  off  2024-01-01  12:30  1_000  0b1                            words

A label `no` stays the text that its author wrote.
"""

import re
from typing import Any, Final

_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{
        sign + word: float(sign + "inf")
        for sign in ("", "+", "-")
        for word in (".inf", ".Inf", ".INF")
    },
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_FIRST = frozenset("+-.0123456789")
_MOST_DIGITS = 300
"""Longer ones are no numbers that anybody meant, and Python refuses to print them."""
_BASES = {"0o": 8, "0x": 16}

SCALAR_TAGS = {
    "tag:yaml.org,2002:null": type(None),
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
}
"""The tags by which an author may insist on a type."""


def parse_scalar(text: str) -> Any:
    """The value of a word without quotes; the text itself if it is none of the schema's.

    ValueError if it is a number of more digits than anything can hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _FIRST:
        return text
    if _INTEGER.fullmatch(text):
        _refuse_long(text)
        return int(text, _BASES[text[:2]]) if text[:2] in _BASES else int(text)
    if _FLOAT.fullmatch(text):
        _refuse_long(text)
        return float(text)
    return text


def parse_tagged_scalar(text: str, tag: str) -> Any:
    """The value of a word with one of `SCALAR_TAGS`; ValueError if it is no such value."""
    value, wanted = parse_scalar(text), SCALAR_TAGS[tag]
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise ValueError(f"expected a value for the tag `!!{tag.rpartition(':')[2]}`, got `{text}`")
    return value


def _refuse_long(text: str) -> None:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"expected a number of at most {_MOST_DIGITS} digits, got {len(text)}")
