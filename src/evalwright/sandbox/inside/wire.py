"""Frames over a stream socket: four bytes of length, then JSON.

Candidate and evaluator speak in turns, so a frame is followed by nothing until it is answered.
"""

from __future__ import annotations

from os import read, write

MAX_BYTES = 8 * 1024**2
"""Of one frame, but for the candidate's source."""
_HEAD_BYTES = 4
_CHUNK_BYTES = 1 << 16


class Closed(Exception):
    """The other process has gone, or has closed its end."""


class BadFrame(Exception):
    """What came is no frame, or too long a one."""


def send(fd: int, body: bytes) -> None:
    """Send one frame, or raise `Closed`."""
    unsent = memoryview(len(body).to_bytes(_HEAD_BYTES, "big") + body)
    while unsent:
        try:
            unsent = unsent[write(fd, unsent) :]
        except OSError:
            raise Closed from None


def receive(fd: int, limit: int = MAX_BYTES) -> bytes:
    """Take one frame and all that has come with it."""
    data = _read(fd)
    while len(data) < _HEAD_BYTES:
        data += _read(fd)
    size = int.from_bytes(data[:_HEAD_BYTES], "big")
    if size > limit:
        raise BadFrame("a message of more than 8 MiB")
    chunks, missing = [data[_HEAD_BYTES:]], size + _HEAD_BYTES - len(data)
    while missing > 0:
        chunks.append(_read(fd))
        missing -= len(chunks[-1])
    if missing:
        raise BadFrame("more than one message at once")
    return b"".join(chunks)


def _read(fd: int) -> bytes:
    try:
        chunk = read(fd, _CHUNK_BYTES)
    except OSError:
        raise Closed from None
    if not chunk:
        raise Closed
    return chunk
