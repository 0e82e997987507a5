"""Keys as a project names its own things: letters, digits, `_` and `-`, at most 250 of them."""

from __future__ import annotations

import re

_KEY = re.compile(r"[a-zA-Z0-9_\-]{1,250}")
_OTHER = re.compile(r"[^a-z0-9_-]+")
_DASHES = re.compile(r"-{2,}")


def is_valid_key(key: str) -> bool:
    """Whether a text is a key."""
    return _KEY.fullmatch(key) is not None


def validate_key(key: str, *, error_type: type[Exception] = ValueError) -> None:
    """Raise an error of that type if a text is not a key."""
    if not is_valid_key(key):
        raise error_type(f"expected a key: 1 to 250 letters, digits, `_` or `-`, got `{key}`")


def sanitize_key(key_candidate: str) -> str:
    """A key made of a text: in lower case, with `-` for what a key cannot have."""
    return _DASHES.sub("-", _OTHER.sub("-", key_candidate.lower())).strip("-")
