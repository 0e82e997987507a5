"""Bytes to lines: plain, gzip or zstd, from a file or standard input, in bounded memory.

Promises:  every line of a file comes out once, in order, blank ones included, so that a count
           of them is an editor's line number; a UTF-8 BOM is dropped; at most one chunk and one
           line are held, and a line is never held beyond the limit.
           Compressed data may expand to 250 times its size; the first 16 MiB are free.
Does not:  decode text. A line is bytes, without its newline.

What cannot be read (missing, a directory, no permission, a compressed stream that is damaged or
ends early) is an `Unreadable`. A line that cannot be used is a `BadLine`: empty bytes that
say why.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from errno import EBADF
from itertools import chain
from os import PathLike, fspath
from typing import IO, Literal, Protocol, TextIO, cast

from evalwright.errors import Unreadable
from evalwright.vocabulary import MAX_LINE_BYTES

STDIN = "-"
_CHUNK = 1 << 18
_HEAD = 4096
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after one byte that varies: how pzstd begins
_MAGIC = 4
MAX_EXPANSION = 250
"""Maximum size of decompressed data, relative to the compressed data that was read for it."""
FREE_EXPANSION_BYTES = 16 << 20
"""Up to this size, decompressed data may have any ratio."""


class BadLine(bytes):
    """A line that was dropped: no bytes, but the reason and how the line began."""

    why: Literal["too_long", "binary", "utf-16"]
    head: bytes

    @classmethod
    def of(cls, why: Literal["too_long", "binary", "utf-16"], head: bytes) -> "BadLine":
        """Create one; the constructor of a bytes subclass cannot take more than bytes."""
        line = cls()
        line.why, line.head = why, head[:_HEAD]
        return line


def read_lines(path: str, *, limit: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """Yield the lines of `path` (`-` is standard input), each at most `limit` bytes long."""
    return chain.from_iterable(read_batches(path, limit=limit))


def read_batches(path: str, *, limit: int = MAX_LINE_BYTES) -> Iterator[list[bytes]]:
    """Yield the same lines in batches: those of one read at a time."""
    with _open(path) as stream:
        yield from _split(stream, limit)


def read_whole(path: str, *, limit: int = MAX_LINE_BYTES) -> bytes:
    """Return all of `path` unchanged, with its last newline; a `BadLine` if binary or too long."""
    with _open(path) as stream:
        pieces = [stream.read(_CHUNK).removeprefix(_BOM)]
        size = len(pieces[0])
        if why := _not_text(pieces[0][:_HEAD]):
            return BadLine.of(why, pieces[0])
        while size <= limit and (piece := stream.read(_CHUNK)):
            pieces.append(piece)
            size += len(piece)
    return _join(pieces, too_long=size > limit)


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


@contextmanager
def _open(path: str) -> Iterator[_Stream]:
    with ExitStack() as stack:
        try:
            file = _stdin() if path == STDIN else stack.enter_context(open(path, "rb"))  # noqa: PTH123
            yield _decompress(file)
        except (OSError, EOFError) as error:
            hint = EXPANSION_HINT if isinstance(error, _ExpansionError) else ""
            raise Unreadable(f"{show_path(path)}: {_why(error)}", hint=hint) from error
        except ValueError as error:  # `open` of a path with a NUL byte
            raise Unreadable(f"{show_path(path)}: {error}") from error


def show_path(path: str | PathLike[str]) -> str:
    """Return a path as messages show it: on one line, and never empty."""
    text = fspath(path)
    return text if text and text.isprintable() else repr(text)


def refuse_nul(address: str) -> None:
    """Raise ValueError for a URL with a NUL character: servers and proxies cut it there."""
    if "%00" in address or "\0" in address:
        raise ValueError("expected a URL without a NUL character (`%00`)")


def _stdin() -> IO[bytes]:
    if cast("TextIO | None", sys.stdin) is None:
        raise OSError(EBADF, "standard input is closed")
    return sys.stdin.buffer


class _PeekedStream:
    """A stream whose first bytes were read already: a pipe cannot be rewound."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest
        self.count = 0
        """The number of bytes that were read."""

    def read(self, size: int) -> bytes:
        head, self._head = self._head[:size], self._head[size:]
        data = head + self._rest.read(size - len(head))
        self.count += len(data)
        return data


class _CompressedStream:
    """A compressed stream; any damage, and a size beyond `MAX_EXPANSION`, raise OSError."""

    def __init__(
        self, stream: IO[bytes], compressed: _PeekedStream, damage: type[Exception]
    ) -> None:
        self._stream, self._compressed, self._damage = stream, compressed, damage
        self._size = 0

    def read(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except self._damage as error:
            raise OSError(str(error)) from error
        self._size += len(data)
        if expands_too_far(self._size, self._compressed.count):
            raise _ExpansionError
        return data


class _ExpansionError(OSError):
    """Compressed data expands too far."""


def expands_too_far(size: int, compressed: int) -> bool:
    """Whether decompressed data is too large for the compressed data that it comes from."""
    return size > max(FREE_EXPANSION_BYTES, MAX_EXPANSION * compressed)


def _decompress(file: IO[bytes]) -> _Stream:
    magic = file.read(_MAGIC)
    peeked = _PeekedStream(magic, file)
    stream = cast("IO[bytes]", peeked)
    if magic.startswith(_GZIP):
        import gzip
        import zlib

        unzipped = cast("IO[bytes]", gzip.GzipFile(fileobj=stream, mode="rb"))
        return _CompressedStream(unzipped, peeked, zlib.error)
    if magic == _ZSTD or magic[1:] == _ZSTD_SKIPPABLE:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdError, ZstdFile
        else:
            from backports.zstd import ZstdError, ZstdFile

        return _CompressedStream(cast("IO[bytes]", ZstdFile(stream)), peeked, ZstdError)
    return stream


def _split(stream: _Stream, limit: int) -> Iterator[list[bytes]]:
    ahead = min(_CHUNK, limit)  # so that a line within a chunk is within the limit
    chunk = stream.read(ahead).removeprefix(_BOM)
    if why := _not_text(chunk[:_HEAD]):
        yield [BadLine.of(why, chunk.partition(b"\n")[0])]
        return
    held: list[bytes] = []  # the pieces of the line that no chunk has ended yet
    size = 0
    while chunk:
        lines = chunk.split(b"\n")
        held.append(lines[0])
        size += len(lines[0])
        if len(lines) > 1:
            lines[0], tail = _join(held, too_long=size > limit), lines.pop()
            yield lines
            held, size = [tail], len(tail)
        elif size > limit:
            held = [b"".join(held)[:_HEAD]]
        chunk = stream.read(ahead)
    if size:
        yield [_join(held, too_long=size > limit)]


def _join(held: list[bytes], *, too_long: bool) -> bytes:
    line = b"".join(held)
    return BadLine.of("too_long", line) if too_long else line


def _not_text(head: bytes) -> Literal["binary", "utf-16"] | None:
    if b"\0" not in head:
        return None
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{")):
        return "utf-16"
    # A stray NUL in text costs its own line; NULs among bytes that are no text cost the file.
    readable = len(head.decode(errors="ignore").encode())
    return "binary" if readable < len(head) - 3 else None  # 3: a character cut by the chunk


EXPANSION = f"the compressed data expands to more than {MAX_EXPANSION} times its size"
EXPANSION_HINT = "if the file is what it should be, decompress it first: there is no limit then"
_REASONS: dict[type[Exception], str] = {
    _ExpansionError: EXPANSION,
    FileNotFoundError: "no such file",
    IsADirectoryError: "a directory, not a file",
    PermissionError: "permission denied",
    EOFError: "the compressed data ends early: the file is truncated",
}


def _why(error: OSError | EOFError) -> str:
    if reason := _REASONS.get(type(error)) or getattr(error, "strerror", None):
        return str(reason)
    return f"the compressed data is damaged: {error}"
