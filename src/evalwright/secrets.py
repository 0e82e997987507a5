r"""Values that never print.

    key = Secret("sk-…")           repr, str and format say [redacted]; only reveal() returns it
    Redactor(values).clean(text)   the text without them, however they were written

Holds:      the exact value; URL-encoded (a space either way, hex digits in either case); escaped
            for JSON (with or without `\u` and `\/`); in base64, alone or anywhere inside
            something longer, in both alphabets; in hex.
Does not:   find a value that was cut, compressed, or encoded twice. Values shorter than 8
            characters are left alone: without `test` no text would be left whole.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from hmac import compare_digest
from urllib.parse import quote_from_bytes, unquote

MASK = "[redacted]"
SHORTEST = 8
_SECRET_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^:/?#@\s]*:([^/?#\s]+)@", re.IGNORECASE)
_BASE64_CHARACTER = "[A-Za-z0-9+/_-]"
_URL_SAFE = str.maketrans("+/", "-_")


class Secret:
    """A value that only `reveal()` returns."""

    __slots__ = ("_value", "declared")

    def __init__(self, value: str, *, declared: bool = False) -> None:
        self._value = value
        self.declared = declared
        """Whether its author declared it as a secret, whatever its variable is called."""

    def reveal(self) -> str:
        """Return the value itself: only for sending it."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        """Compare in constant time."""
        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(_encode(self._value), _encode(other._value))

    def __hash__(self) -> int:
        return hash(self._value)


class Redactor:
    """Removes secret values from texts; false if it knows none."""

    def __init__(self, values: Iterable[str]) -> None:
        spellings: dict[str, str] = {}
        for value in values:
            for trimmed in {value, value.strip()}:  # clients send it without its newline
                if len(trimmed) >= SHORTEST:
                    spellings.update(_spellings(trimmed))
        longest_first = sorted(spellings, key=len, reverse=True)
        self._plain = tuple(longest_first)
        self._pattern = re.compile("|".join(spellings[spelling] for spelling in longest_first))

    def __bool__(self) -> bool:
        return bool(self._plain)

    def clean(self, text: str) -> str:
        """Return the text without the secrets; the same object if it contains none."""
        for spelling in self._plain:  # five times as fast as the pattern, and nearly always enough
            if spelling in text:
                return self._pattern.sub(MASK, text)
        return text


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Return the values to hide, by the names of their variables.

    Those of names that are, or end after a `_` in, KEY, APIKEY, TOKEN, SECRET or PASSWORD in any
    case, and the password of any value that is a URL (`postgresql://me:password@host/runs`).
    """
    secrets: list[str] = []
    for name, value in environment.items():
        if _SECRET_NAME.search(name):
            secrets.append(value)
        if (url := _PASSWORD_IN_URL.match(value)) is not None:
            secrets += (url[1], unquote(url[1]))
    return [secret for secret in dict.fromkeys(secrets) if len(secret) >= SHORTEST]


def _spellings(value: str) -> Iterator[tuple[str, str]]:
    """Yield every encoding of a value, each with the pattern that removes it from a text."""
    raw = _encode(value)
    for spelling in (value, *_in_urls(raw), *_in_json(value), raw.hex(), raw.hex().upper()):
        yield spelling, re.escape(spelling)
    for before in range(3):
        yield from _in_base64(raw, before)


def _in_urls(raw: bytes) -> Iterator[str]:
    for safe in ("", "/"):
        quoted = quote_from_bytes(raw, safe=safe)
        for spelling in (quoted, quoted.replace("%20", "+")):
            yield spelling
            yield re.sub(r"%..", lambda escape: escape[0].lower(), spelling)


def _in_json(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        escaped = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", r"\/")


def _in_base64(raw: bytes, before: int) -> Iterator[tuple[str, str]]:
    """Return the characters that depend on the value alone, at this byte offset.

    One character at either end may mix it with its neighbours; the pattern takes these too.
    """
    mixed = before + bool(before)
    whole = (before + len(raw)) * 8 // 6
    ends = (before + len(raw)) % 3 != 0
    head = f"{_BASE64_CHARACTER}?" if before else ""
    tail = f"{_BASE64_CHARACTER}?(?:=|%3[Dd]){{0,2}}" if ends else ""
    core = b64encode(bytes(before) + raw).decode()[mixed:whole]
    for spelling in (core, core.translate(_URL_SAFE), *_in_urls(core.encode()), *_in_json(core)):
        yield spelling, f"{head}{re.escape(spelling)}{tail}"


def _encode(text: str) -> bytes:
    """Encode as UTF-8, with the original bytes of an environment variable that was not."""
    return text.encode("utf-8", "surrogateescape")
