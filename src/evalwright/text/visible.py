"""Escape terminal control characters."""

import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNSEEN_IN_JSON = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)


def visible(text: str) -> str:
    """Escape terminal control characters, except newline and tab."""
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def escape_in_json(data: bytes) -> bytes:
    """Escape the terminal control characters that JSON encoders leave unescaped."""
    return _UNSEEN_IN_JSON.sub(lambda match: b"\\u%04x" % ord(match[0].decode()), data)
