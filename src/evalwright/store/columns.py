"""Strings as SQLite keeps them.

It takes any text but lone surrogates, which a file name that is not UTF-8 has: such a text is kept
as bytes. Of a key it keeps 64 bits; the body has all of it.
"""

_PRIME = (1 << 64) - 59  # so that every digit of a key counts
_HALF = 1 << 63


def text_in(text: str) -> str | bytes:
    """A text as it is kept."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def text_out(kept: str | bytes) -> str:
    """A text that was kept."""
    return kept if isinstance(kept, str) else kept.decode(errors="surrogatepass")


def key_hash(key: str) -> int | None:
    """64 bits of a key, by which it is found; None for no key."""
    if not key:
        return None
    try:
        number = int(key, 16)
    except ValueError:  # not one of ours
        from hashlib import blake2b

        number = int.from_bytes(blake2b(key.encode(errors="surrogatepass")).digest())
    return number % _PRIME - _HALF
