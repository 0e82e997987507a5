"""Write out characters that act on a terminal."""

import re

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Write out characters that act on a terminal; newline and tab stay."""
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
