r"""Undo the encodings in which a text may contain a value, and remember where each byte came from.

    escapes    percent (`%73`), `\u0073`, `\x73`, octal, JSON, and HTML (`&#115;`, `&amp;`)
    base64     both alphabets, at any alignment
    base32     either case, at any alignment
    hex        with or without separators and `0x`
    UTF-16     of ASCII: the NUL bytes are left out

Holds:      every function is linear in the text.
Does not:   know whether a text *is* encoded. It tries, and what comes out is mostly noise.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

_ENTITIES = {
    "amp": "&",
    "apos": "'",
    "ast": "*",
    "colon": ":",
    "comma": ",",
    "commat": "@",
    "dollar": "$",
    "equals": "=",
    "excl": "!",
    "gt": ">",
    "lowbar": "_",
    "lt": "<",
    "num": "#",
    "percnt": "%",
    "period": ".",
    "plus": "+",
    "quest": "?",
    "quot": '"',
    "semi": ";",
    "sol": "/",
    "bsol": "\\",
}
_SIMPLE = {
    **dict(zip(b"bfnrt0", b"\b\f\n\r\t\0", strict=True)),
    **{each: each for each in b"\"\\/'"},
}
_ESCAPE = re.compile(
    rb"%([0-9A-Fa-f]{2})"
    rb"|\\(?:u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})"
    rb"|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})"
    rb"|([01][0-7]{2})|([bfnrt0\"\\/']))"
    rb"|&(?:#[xX]0*([0-9A-Fa-f]{1,6})|#0*([0-9]{1,7})|(" + "|".join(_ENTITIES).encode() + rb"));?"
)
_BYTE, _LOW, _OCTAL, _NAMED, _DECIMAL, _ENTITY = {1, 7}, 3, 8, 9, 11, 12
_TOKEN = bytes(chr(n).isascii() and (chr(n).isalnum() or chr(n) in "+/-_") for n in range(256))
_DIGITS_64 = bytes(
    n if _TOKEN[n] and n not in b"-_" else ord("+" if n == ord("-") else "/") for n in range(256)
)
"""Both alphabets as one; what is in neither becomes a digit too, so that places stay."""
_UPPER_32 = bytes(chr(n) in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" for n in range(256))
_LOWER_32 = bytes(chr(n) in "abcdefghijklmnopqrstuvwxyz234567" for n in range(256))
_NOT_HEX = bytes(n for n in range(256) if chr(n) not in "0123456789abcdefABCDEF")
_NOT_DECIMAL_OR_X = bytes(n for n in range(256) if chr(n) not in "0123456789xX")
_HEX_PREFIX = re.compile(rb"0[xX](?=[0-9A-Fa-f]{2})")
_HEX_DIGIT = re.compile(rb"[0-9A-Fa-f]")
_LAST_ASCII = 127
_LAST_CHARACTER = 0x10FFFF
_HIGH_DIGIT = bytes(chr(n) in "01234567" for n in range(256))
MOST_BETWEEN = 16
"""The longest separator in hex: a comma, a line break, an indent and a prefix fit in."""
_BYTES_PER_RUN = 64
"""With more runs than one in so many bytes, a search through all the data is faster."""
MOST_PER_BYTE = 4 * (1 + MOST_BETWEEN)
"""The longest encoding of a byte without escapes: UTF-16 in hex with separators."""


class View(NamedTuple):
    """Decoded bytes, and where in the text each of them begins and ends."""

    data: bytes
    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, data: bytes) -> "View":
        """Return the text itself."""
        return cls(data, range(len(data)), range(1, len(data) + 1))

    def select(self, data: bytes, firsts: Sequence[int], lasts: Sequence[int]) -> "View":
        """Return a view of this view: byte n comes from bytes `firsts[n]` to `lasts[n]` of it."""
        starts, ends = self.starts, self.ends
        return View(data, [starts[place] for place in firsts], [ends[place] for place in lasts])


def undo_escapes(data: bytes, *, skipped: bytes = b"") -> bytes:
    """Return the data with every escape replaced by what it stands for, once.

    Escapes that begin with the `skipped` byte stay.
    """
    return _ESCAPE.sub(partial(_decode_escape, skipped=skipped), data)


def _decode_escape(match: re.Match[bytes], *, skipped: bytes) -> bytes:
    if skipped and match[0].startswith(skipped):
        return match[0]
    group = match.lastindex or 0
    text = match[group]
    if group in _BYTE:
        return bytes((int(text, 16),))
    if group == _NAMED:
        return bytes((_SIMPLE[text[0]],))
    if group == _ENTITY:
        return _ENTITIES[text.decode()].encode()
    if group == _LOW:
        high, low = int(match[2], 16) - 0xD800, int(text, 16) - 0xDC00
        code = 0x10000 + (high << 10) + low
    else:
        code = int(text, 8 if group == _OCTAL else 10 if group == _DECIMAL else 16)
    return chr(code).encode("utf-8", "surrogatepass") if code <= _LAST_CHARACTER else match[0]


def compile_escapes(values: Iterable[bytes]) -> dict[bytes, re.Pattern[bytes]]:
    """Return patterns of the escapes in which one of these values could be written.

    The key of each is the byte that its escapes begin with. They also find some escapes that are
    not of a value, but few in ordinary text: undoing escapes takes time.
    """
    own = {*b"".join(values)}
    codes = own | {*b"%&\\\0+/="}  # escapes of escapes, UTF-16 and base64
    hexadecimal = "|".join(map(_in_both_cases, sorted(codes)))
    wide = "" if max(codes) > _LAST_ASCII else f"00(?:{hexadecimal})"
    simple = [chr(letter) for letter, code in _SIMPLE.items() if code in codes - {0, *b"\\"}]
    letters = re.escape("".join(simple))
    twice = "" if ord("\\") in own else rf"(?=[uUx01{letters}\\])"
    names = "|".join(name for name, character in _ENTITIES.items() if ord(character) in codes)
    patterns = {
        b"%": rf"%(?:{hexadecimal})",
        b"&": rf"&(?:#[xX]?0*|(?:{names})\b)",
        b"\\": rf"\\(?:u(?:{wide}|\{{)|U0000|x(?:{hexadecimal})|[01{letters}]"
        rf"|\\{twice})",
    }
    return {first: re.compile(pattern.encode()) for first, pattern in patterns.items()}


def _in_both_cases(code: int) -> str:
    return "".join(f"[{digit}{digit.upper()}]" for digit in f"{code:02x}")


def select_near_escapes(
    data: bytes, patterns: Iterable[tuple[bytes, re.Pattern[bytes]]], reach: int
) -> bytes:
    """Return the parts of the data within `reach` of an escape, with line breaks between.

    Returns nothing without an escape, and all the data if the parts are most of it.
    """
    most = len(data) // (4 * reach) + 1
    places = sorted(
        match.span()
        for first, pattern in patterns
        if first in data
        for match in islice(pattern.finditer(data), most)
    )
    if len(places) >= most:
        return data
    parts, covered = list[bytes](), 0
    for first, last in places:
        start, end = max(first - reach, 0), last + reach
        if not parts or start > covered:
            parts.append(b"\n")
        parts.append(data[max(start, covered) : end])
        covered = max(covered, end)
    return b"".join(parts)


def mark_alphabet(characters: bytes) -> bytes:
    """Return these bytes as an alphabet for `join_runs`."""
    return bytes(n in characters for n in range(256))


def extend_alphabet(more: bytes) -> bytes:
    """Return the alphabet of base64 and these bytes, for `join_runs`."""
    return bytes(_TOKEN[n] or n in more for n in range(256))


def join_runs(data: bytes, alphabet: bytes, shortest: int, separator: bytes = b"\n") -> bytes:
    """Return the runs of characters of the alphabet that are long enough, and separators.

    If there are very many, returns all the data: to go through them would take longer.
    """
    marks = data.translate(alphabet)
    run, end, runs = b"\1" * shortest, 0, list[bytes]()
    most = len(data) // _BYTES_PER_RUN + 1
    while (start := marks.find(run, end)) >= 0:  # a loop: a generator would cost more
        if len(runs) == most:
            return data
        end = marks.find(0, start + shortest)
        if end < 0:
            end = len(data)
        runs.append(data[start:end])
    return separator.join(runs)


def join_tokens(data: bytes, shortest: int) -> bytes:
    """Return the runs of characters of base64 that are long enough, with slashes between."""
    return join_runs(data, _TOKEN, shortest, b"////")


def decode_tokens(tokens: bytes) -> bytes:
    """Return what joined tokens are as base64, at every alignment, one after the other."""
    tokens = tokens.translate(_DIGITS_64)
    padding = b"A" * (-len(tokens) % 4 + 4)
    return binascii.a2b_base64(
        b"".join((tokens, padding, tokens[1:], padding, b"A", tokens[2:], padding, b"AA"))
        + b"".join((tokens[3:], padding, b"AAA"))
    )


def join_base32(data: bytes, shortest: int) -> bytes:
    """Return the runs of base32 that are long enough, in capitals, with something in between."""
    runs = [
        data[start:end]
        for alphabet in (_UPPER_32, _LOWER_32)
        for start, end in _find_runs(data, alphabet, shortest)
    ]
    return b"-".join(runs).upper()


def encode_base32(value: bytes) -> Iterator[bytes]:
    """Yield the characters that depend on the value alone, at each of the five alignments."""
    for before in range(5):
        first, last = -(-before * 8 // 5), (before + len(value)) * 8 // 5
        yield base64.b32encode(bytes(before) + value)[first:last]


def decode_hex(data: bytes, shortest: int) -> bytes:
    """Return what the hex digits in the data are as bytes, at both alignments.

    Nothing if they cannot be so many bytes of ASCII, each of which has a digit from 0 to 7.
    """
    if data.translate(_HIGH_DIGIT).count(1) < shortest:
        return b""
    if b"0x" in data or b"0X" in data:
        data = _HEX_PREFIX.sub(b"", data)
    digits = data.translate(None, _NOT_HEX)
    return _decode_hex(digits) + _decode_hex(digits[1:])


def take_digits(data: bytes) -> bytes:
    """Return the decimal digits among the hex digits in the data."""
    digits = data.translate(None, _NOT_DECIMAL_OR_X)
    if b"0x" in digits or b"0X" in digits:
        digits = _HEX_PREFIX.sub(b"", data).translate(None, _NOT_DECIMAL_OR_X)
    return digits.translate(None, b"xX")


def view_escapes(view: View, *, skipped: bytes = b"") -> View:
    """Undo every escape, once, as `undo_escapes` does."""
    data, firsts, lasts, end = bytearray(), list[int](), list[int](), 0
    for match in _ESCAPE.finditer(view.data):
        literal, decoded = range(end, match.start()), _decode_escape(match, skipped=skipped)
        end = match.end()
        data += view.data[literal.start : literal.stop] + decoded
        firsts += [*literal, *[match.start()] * len(decoded)]
        lasts += [*literal, *[end - 1] * len(decoded)]
    rest = range(end, len(view.data))
    return view.select(bytes(data + view.data[end:]), [*firsts, *rest], [*lasts, *rest])


def view_spaces(view: View) -> View:
    """Read `+` as a space, as in the query of a URL."""
    return View(view.data.replace(b"+", b" "), view.starts, view.ends)


def view_utf16(view: View) -> View:
    """Leave out the NUL bytes."""
    places = [place for place, byte in enumerate(view.data) if byte]
    return view.select(view.data.replace(b"\0", b""), places, places)


def view_base64(view: View, shortest: int) -> Iterator[View]:
    """Decode every run of base64 that is long enough, at every alignment."""
    data = view.data.translate(_DIGITS_64)
    for start, end in _find_runs(view.data, _TOKEN, shortest):
        for first in range(start, start + 4):
            decoded = _decode_base64(data[first:end])
            yield _view_digits(view, decoded, first, bits=6)


def view_base32(view: View, shortest: int) -> Iterator[View]:
    """Decode every run of base32 that is long enough, at every alignment."""
    for alphabet in (_UPPER_32, _LOWER_32):
        for start, end in _find_runs(view.data, alphabet, shortest):
            for first in range(start, min(start + 8, end)):
                digits = view.data[first:end].upper()
                decoded = base64.b32decode(digits + b"A" * (-len(digits) % 8))
                yield _view_digits(view, decoded[: len(digits) * 5 // 8], first, bits=5)


def view_hex(view: View) -> Iterator[View]:
    """Decode the hex digits, at both alignments. Whatever stands between them is left out."""
    prefixes = {match.start() for match in _HEX_PREFIX.finditer(view.data)}
    places = [m.start() for m in _HEX_DIGIT.finditer(view.data) if m.start() not in prefixes]
    digits = bytes(view.data[place] for place in places)
    for offset in range(2):
        decoded = _decode_hex(digits[offset:])
        yield view.select(decoded, places[offset::2], places[offset + 1 :: 2])


def _view_digits(view: View, decoded: bytes, first: int, *, bits: int) -> View:
    """Return bytes that were decoded from digits of so many bits, the first of them at `first`."""
    count = range(len(decoded))
    firsts = [first + n * 8 // bits for n in count]
    return view.select(decoded, firsts, [first + (n * 8 + 7) // bits for n in count])


def _find_runs(data: bytes, alphabet: bytes, shortest: int) -> Iterator[tuple[int, int]]:
    """Yield where each run of these characters begins and ends, if it is long enough."""
    marks = data.translate(alphabet)
    run, end = b"\1" * shortest, 0
    while (start := marks.find(run, end)) >= 0:
        end = marks.find(0, start + shortest)
        if end < 0:
            end = len(data)
        yield start, end


def _decode_base64(digits: bytes) -> bytes:
    return binascii.a2b_base64(digits + b"A" * (-len(digits) % 4))[: len(digits) * 6 // 8]


def _decode_hex(digits: bytes) -> bytes:
    return binascii.unhexlify(digits[: len(digits) // 2 * 2])
