"""What is stored of an outcome beside its scalars, as bytes.

The first byte says how to read the rest:

    m   MessagePack
    j   JSON, for what MessagePack cannot hold: lone surrogates, integers beyond 64 bits
    M J the same, compressed with zstd, because it was large

Promises:  whatever is packed can be unpacked by this version and by later ones: fields have names,
           and one that is missing takes its default.
Does not:  keep the type of a foreign object in `metadata`: of a number or an array it keeps the
           values, of anything else its `repr`.
"""

import json
import sys
from operator import attrgetter
from threading import local
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from evalwright.errors import StoreError
from evalwright.types import Action, Failure, Outcome, Part, Score, Trace, Usage

T = TypeVar("T")

_COMPRESSED_FROM = 1024
_LEVEL = 1  # at 2 KiB: 9 µs, and half the size; level 3 saves one part in fifty more


class UnreadableBody(StoreError):
    """Bytes that are not what `pack` returned."""


class Body(Struct, frozen=True, omit_defaults=True):
    """All of an outcome that has no column."""

    trace: Trace | None = None
    failure: Failure | None = None
    scores: dict[str, Score] = {}
    solve_key: str = ""
    score_keys: dict[str, str] = {}
    sample: dict[str, Any] = {}
    others: dict[str, Usage] = {}
    parts: tuple[Part, ...] = ()
    actions: tuple[Action, ...] = ()
    whole: dict[str, Score] = {}


_body_fields = attrgetter(*Body.__struct_fields__)


class SolvedBody(Struct, frozen=True):
    """A body, read for its trace alone."""

    trace: Trace | None = None
    solve_key: str = ""


class ScoredBody(Struct, frozen=True):
    """A body, read for its scores alone."""

    scores: dict[str, Score] = {}
    score_keys: dict[str, str] = {}


def pack_body(outcome: Outcome) -> bytes:
    """The body of an outcome as bytes; `unpack` reads them."""
    return pack(Body(*_body_fields(outcome)))


def pack(thing: Any) -> bytes:
    """A noun, or a dict, as bytes."""
    try:
        form, packed = b"m", _encode(thing)
    except (UnicodeEncodeError, OverflowError):
        builtins = msgspec.to_builtins(thing, enc_hook=_native, str_keys=True)
        form, packed = b"j", json.dumps(builtins).encode()
    if len(packed) < _COMPRESSED_FROM:
        return form + packed
    return form.upper() + _compress(packed)


def unpack(packed: bytes, kind: type[T]) -> T:
    """What was packed, read as `kind`."""
    form, rest = packed[:1], packed[1:]
    try:
        if form.isupper():
            form, rest = form.lower(), _decompress(rest)
        if form == b"m":
            return msgspec.msgpack.decode(rest, type=kind)
        if form == b"j":
            return msgspec.convert(json.loads(rest), kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise UnreadableBody(f"a stored body cannot be read: {error}") from error
    raise UnreadableBody(
        f"a stored body cannot be read: its format is {form!r}", hint="upgrade evalwright"
    )


def _native(thing: Any) -> Any:
    natives: tuple[type[Any], ...] = (float, int, str, list, dict)
    for native in natives:
        if isinstance(thing, native):
            return native(thing)
    if hasattr(thing, "tolist"):  # an array, or one number of an array
        return thing.tolist()
    return repr(thing)


_encode = msgspec.msgpack.Encoder(enc_hook=_native).encode


_thread = local()
"""A compressor per thread: creating one costs more than using it."""


def _compress(plain: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdCompressor
    else:
        from backports.zstd import ZstdCompressor

    if not hasattr(_thread, "compressor"):
        _thread.compressor = ZstdCompressor(level=_LEVEL)
    packed: bytes = _thread.compressor.compress(plain, mode=ZstdCompressor.FLUSH_FRAME)
    return packed


def _decompress(packed: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdError, decompress
    else:
        from backports.zstd import ZstdError, decompress

    try:
        return decompress(packed)
    except ZstdError as error:
        raise ValueError(str(error)) from error
