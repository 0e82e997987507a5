r"""Values that never print.

    key = Secret("sk-…")           repr, str and format say [redacted]; only reveal() returns it
    Redactor(values).clean(text)   the text without them, however they were written

Holds:      the value, and any 12 characters of it in a row if it looks like a key (of a value of
            more than 240 characters, any 20th part of it), as they are and in these encodings:
            percent-encoded (a space also as `+`); `\u0073`, `\x73` and octal escapes; escaped for
            JSON; HTML entities; hex, with or without separators; base64 in both alphabets and
            base32, alone or anywhere inside something longer; UTF-16, as it is or in one of these.
            Escapes are undone up to four times, before any other encoding.
Does not:   find a value that was compressed, encrypted, reversed, or encoded twice in other ways
            than by escapes; fewer than 12 characters of it; fragments of a passphrase or a path;
            UTF-16 of a value that is not ASCII. Values shorter than 8 characters are left alone:
            without `test` no text would be left whole.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hmac import compare_digest
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from evalwright.decodings import (
    MOST_BETWEEN,
    MOST_PER_BYTE,
    View,
    compile_escapes,
    decode_hex,
    decode_tokens,
    encode_base32,
    extend_alphabet,
    join_base32,
    join_runs,
    join_tokens,
    mark_alphabet,
    select_near_escapes,
    take_digits,
    undo_escapes,
    view_base32,
    view_base64,
    view_escapes,
    view_hex,
    view_spaces,
    view_utf16,
)

MASK = "[redacted]"
SHORTEST = 8
FRAGMENT = 12
_MOST_FRAGMENTS = 20
_ROUNDS = 4
_CONTINUES = 0x80
_PATH = re.compile(r"(?:[~.]{0,2}/|\\|[A-Za-z]:[\\/])|[^/]*://")
_LETTER = re.compile(r"[A-Za-z]")
_DIGIT = re.compile(r"[0-9]")
_SPACE = re.compile(r"\s")
_WORD = re.compile(r"[A-Za-z0-9]+")
_CLASS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
_FEWEST_CHANGES = 0.3
SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+(?=\S{8})", re.IGNORECASE)
"""How a value begins that is a key, whatever the name of its header."""
KNOWN_KEY = re.compile(
    r"(?:(?:sk|pk|rk)[-_]|gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|AKIA|ASIA|AIza|ya29\.|hf_|gsk_"
    r"|r8_|npm_|pypi-|dapi|whsec_|SG\.|eyJ)[\w.\-]{8}"
)
"""How the keys of well-known services begin."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::[0-9]+)?")
_SECRET_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^:/?#@\s]*:([^/?#\s]+)@", re.IGNORECASE)


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
        known = dict.fromkeys(
            encoded
            for value in values
            for trimmed in (value, value.strip())  # clients send it without its newline
            if len(trimmed) >= SHORTEST
            for encoded in _encodings(trimmed)
        )
        needles = _find_needles(known)
        self._probes = [probe for needle in needles for probe in _make_probes(*needle)]
        self._base32_probes = [
            probe
            for value, fragment in needles
            for digits in encode_base32(value)
            for probe in _make_probes(digits, min(fragment * 8 // 5 - 1, len(digits)))
        ]
        self._shortest = min((fragment for _, fragment in needles), default=0)
        self._shortest_base64 = self._shortest * 8 // 6
        self._shortest_base32 = self._shortest * 8 // 5
        self._shortest_ascii = min((_count_ascii(*needle) for needle in needles), default=0)
        self._prepare_filters(needles)
        self._escapes = list(compile_escapes(known).items())
        self._reach = MOST_PER_BYTE * max((needle.fragment for needle in needles), default=0)
        marks = [mark for mark in (b"%", b"&", b"\\") if any(mark in value for value in known)]
        self._skipped = [b"", *marks]
        """Escapes to leave: a value may end in `%`, and a text go on with two digits."""
        self._has_space = any(b" " in value for value in known)

    def _prepare_filters(self, needles: Sequence["_Needle"]) -> None:
        """Prepare searches that are fast, and find every text that contains a secret."""
        solid = [needle for needle in needles if _is_solid(needle.value)]
        self._loose_probes = [
            probe for needle in needles if needle not in solid for probe in _make_probes(*needle)
        ]
        self._solid_probes = [probe for needle in solid for probe in _make_probes(*needle)]
        solid_bytes = b"".join(needle.value for needle in solid)
        self._solid_alphabet = mark_alphabet(solid_bytes)
        self._shortest_solid = min((needle.fragment for needle in solid), default=0)
        self._alphabet = extend_alphabet(solid_bytes)
        self._shortest_run = min(
            [self._shortest_base64, *(needle.fragment for needle in solid)], default=0
        )
        self._digits = [take_digits(probe.block.hex().encode()) for probe in self._probes]
        self._digits_utf16 = [
            take_digits(probe.block.hex(" ").encode().replace(b" ", b"00"))
            for probe in self._probes
        ]

    def __bool__(self) -> bool:
        return bool(self._probes)

    def clean(self, text: str) -> str:
        """Return the text without the secrets; the same object if it contains none."""
        if len(text) < SHORTEST or not self._probes:
            return text
        data = text.encode("utf-8", "surrogatepass")
        if not self.may_occur(data):
            return text
        spans = sorted(self._find_spans(data))
        return _mask(data, spans) if spans else text

    def may_occur(self, data: bytes) -> bool:
        """Whether a secret may be in the data, which is UTF-8. False is certain, and fast."""
        if not self._probes:
            return False
        for skipped in self._skipped:
            if self._undo(data, skipped):
                return True
        spaced = self._has_space and b"+" in data
        return spaced and self._undo(data.replace(b"+", b" "), b"")

    def _undo(self, data: bytes, skipped: bytes) -> bool:
        for _ in range(_ROUNDS):
            if self._occurs(data):
                return True
            data = select_near_escapes(data, self._escapes, self._reach)
            if not data:
                return False
            data = undo_escapes(data, skipped=skipped)
        return self._occurs(data)

    def _has_escapes(self, data: bytes) -> bool:
        for first, pattern in self._escapes:  # noqa: SIM110 - a generator would cost more
            if first in data and pattern.search(data):
                return True
        return False

    def _occurs(self, data: bytes) -> bool:
        if self._loose_probes and _has_any(data, self._loose_probes):
            return True
        if b"\0" in data and _has_any(data.replace(b"\0", b""), self._probes):
            return True
        runs = join_runs(data, self._alphabet, self._shortest_run)
        return (runs and self._occurs_in_runs(runs)) or self._occurs_in_hex(data)

    def _occurs_in_runs(self, runs: bytes) -> bool:
        if _has_any(runs, self._solid_probes):
            return True
        if len(runs) < self._shortest_base64:
            return False
        tokens = join_tokens(runs, self._shortest_base64)
        if not tokens:
            return False
        base32 = join_base32(tokens, self._shortest_base32)
        if base32 and _has_any(base32, self._base32_probes):
            return True
        return self._occurs_in_decodings(decode_tokens(tokens))

    def _occurs_in_hex(self, data: bytes) -> bool:
        """Look for the decimal digits of the hex digits first: no others have to be right."""
        digits = take_digits(data)
        if len(digits) < self._shortest_ascii:
            return False
        for block in self._digits:
            if block in digits:
                return self._occurs_in_decodings(decode_hex(data, self._shortest_ascii))
        if len(digits) < 3 * self._shortest_ascii - 2:  # in UTF-16, the digits 00 are between
            return False
        for block in self._digits_utf16:
            if block in digits:
                return self._occurs_in_decodings(decode_hex(data, self._shortest_ascii))
        return False

    def _occurs_in_decodings(self, data: bytes) -> bool:
        if self._occurs_in_noise(data):
            return True
        return b"\0" in data and self._occurs_in_noise(data.replace(b"\0", b""))

    def _occurs_in_noise(self, data: bytes) -> bool:
        """Look in what was decoded, which hardly ever has a run of the characters of a key."""
        if self._loose_probes and _has_any(data, self._loose_probes):
            return True
        if not self._solid_probes:
            return False
        runs = join_runs(data, self._solid_alphabet, self._shortest_solid)
        return bool(runs) and _has_any(runs, self._solid_probes)

    def _find_spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield where secrets and their fragments are, in every encoding."""
        view = View.of(data)
        for skipped in self._skipped:
            yield from self._find_in_rounds(view, skipped)
        if self._has_space:
            yield from self._find_in_rounds(view_spaces(view), b"")

    def _find_in_rounds(self, view: View, skipped: bytes) -> Iterator[tuple[int, int]]:
        for round_ in range(_ROUNDS + 1):
            yield from self._find_in(view)
            yield from self._find_in(view_utf16(view))
            for decoded in (
                *view_base64(view, self._shortest_base64),
                *view_base32(view, self._shortest_base32),
            ):
                yield from self._find_in(decoded)
                yield from self._find_in(view_utf16(decoded))
            for decoded in view_hex(view):
                yield from self._find_in(decoded, most_between=MOST_BETWEEN)
                yield from self._find_in(view_utf16(decoded), most_between=MOST_BETWEEN)
            if round_ == _ROUNDS or not self._has_escapes(view.data):
                return
            view = view_escapes(view, skipped=skipped)

    def _find_in(self, view: View, *, most_between: int | None = None) -> Iterator[tuple[int, int]]:
        for probe in self._probes:
            if probe.block not in view.data:
                continue
            for window in probe.windows:
                place = view.data.find(window)
                while place >= 0:
                    last = place + len(window) - 1
                    if most_between is None or _is_dense(view, place, last, most_between):
                        yield view.starts[place], view.ends[last]
                    place = view.data.find(window, place + 1)


class _Probe(NamedTuple):
    """A few bytes that are in every one of some fragments: fast to look for."""

    block: bytes
    windows: tuple[bytes, ...]


class _Needle(NamedTuple):
    """Bytes to look for, and how many of them in a row are already too many."""

    value: bytes
    fragment: int


def _find_needles(values: Iterable[bytes]) -> list[_Needle]:
    """Return every value, and the parts of it of which fragments are to be found too."""
    needles = dict[_Needle, None]()
    for value in values:
        parts = [part for part in value.split() if looks_like_key(part.decode("ascii", "replace"))]
        if value not in parts:
            needles[_Needle(value, len(value))] = None
        fragment = max(FRAGMENT, len(value) // _MOST_FRAGMENTS)
        needles.update((_Needle(part, min(fragment, len(part))), None) for part in parts)
    return list(needles)


def looks_like_key(value: str) -> bool:
    """Whether a value is so random that no text contains a fragment of it by chance.

    It has at least 12 characters of ASCII without spaces, letters and digits among them, and
    does not begin as a path or a URL. 12 letters and digits stand together in it, or letters in
    lower case, letters in upper case and digits alternate: at three in ten places at least.
    """
    if len(value) < FRAGMENT or not value.isascii() or _PATH.match(value):
        return False
    if not (_LETTER.search(value) and _DIGIT.search(value)) or _SPACE.search(value):
        return False
    words = _WORD.findall(value)
    if any(len(word) >= FRAGMENT and not word.isalpha() and not word.isdigit() for word in words):
        return True
    changes = sum(len(_CLASS.findall(word)) - 1 for word in words)
    return changes >= _FEWEST_CHANGES * sum(len(word) - 1 for word in words)


def _is_solid(value: bytes) -> bool:
    """Whether a value is printable ASCII without spaces."""
    return value.isascii() and value.decode().isprintable() and b" " not in value


def _make_probes(value: bytes, fragment: int) -> Iterator[_Probe]:
    """Yield probes so that every fragment of the value contains the block of one of them."""
    step = fragment // 2 + 1
    size = fragment - step + 1
    for start in range(0, len(value) - size + 1, step):
        first, last = max(0, start + size - fragment), min(start, len(value) - fragment)
        windows = tuple(value[place : place + fragment] for place in range(first, last + 1))
        yield _Probe(value[start : start + size], windows)


def _count_ascii(value: bytes, fragment: int) -> int:
    """Return how many bytes of ASCII are in every fragment of a value."""
    return fragment if value.isascii() else sum(byte < _CONTINUES for byte in value)


def _has_any(data: bytes, probes: Iterable[_Probe]) -> bool:
    for block, windows in probes:  # a loop: a generator would cost more than the search
        if block in data and any(window in data for window in windows):
            return True
    return False


def _is_dense(view: View, first: int, last: int, most_between: int) -> bool:
    places = range(first, last)
    return all(view.starts[n + 1] - view.ends[n] <= most_between for n in places)


def _mask(data: bytes, spans: Iterable[tuple[int, int]]) -> str:
    """Replace the spans, which are sorted; those that overlap are one."""
    pieces, position, covered = list[bytes](), 0, -1
    for start, end in spans:
        if start >= covered:
            pieces += [data[position : _find_start(data, start)], MASK.encode()]
        covered = max(covered, end)
        position = _find_end(data, covered)
    return b"".join([*pieces, data[position:]]).decode("utf-8", "surrogatepass")


def _find_start(data: bytes, place: int) -> int:
    """Return where the character at this byte begins."""
    while place and data[place] & 0xC0 == _CONTINUES:
        place -= 1
    return place


def _find_end(data: bytes, place: int) -> int:
    while place < len(data) and data[place] & 0xC0 == _CONTINUES:
        place += 1
    return place


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


def find_credentials(value: str) -> list[str]:
    """Return what looks like a credential in a value that a connection sends.

    After `Bearer`, `Basic` or `Token`: all of it. In a URL: the password, and the segments of the
    path and the values of the query that look like keys, or whose names are those of keys. The
    value itself, if it begins as the keys of a known provider or looks like a key. Host names do
    not, nor do versions of an API.
    """
    value = value.strip()
    if scheme := SCHEME.match(value):
        found = [value, value[scheme.end() :]]
    elif _URL.match(value):
        found = list(_find_in_url(value))
    else:
        found = [value] if _is_credential(value) else []
    return [credential for credential in found if len(credential) >= SHORTEST]


def is_address(value: str) -> bool:
    """Whether a value is a URL or the name of a host, with or without a port."""
    value = value.strip()
    return _URL.match(value) is not None or _HOST.fullmatch(value) is not None


def is_secret_name(name: str) -> bool:
    """Whether a variable, a header or a parameter of this name holds a key."""
    return _SECRET_NAME.search(name.replace("-", "_")) is not None


def _find_in_url(url: str) -> Iterator[str]:
    yield from secrets_in({"": url})
    address, _, rest = url.partition("?")
    segments = address.split("/")[3:]
    yield from filter(_is_credential, map(unquote, segments))
    for name, value in parse_qsl(rest.partition("#")[0]):
        if is_secret_name(name) or _is_credential(value):
            yield value


def _is_credential(value: str) -> bool:
    if KNOWN_KEY.match(value):
        return True
    return looks_like_key(value) and not _HOST.fullmatch(value)


def _encodings(value: str) -> Iterator[bytes]:
    """Yield the bytes of a value; if an environment variable is not UTF-8, the original ones."""
    yield value.encode("utf-8", "surrogatepass")
    yield _encode(value)


def _encode(text: str) -> bytes:
    """Encode as UTF-8, with the original bytes of an environment variable that was not."""
    return text.encode("utf-8", "surrogateescape")
