"""Frames over a stream socket: their length, then JSON.

Candidate and evaluator take turns, so nothing follows a frame until it is answered. The engine
sends its one job with a longer head.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from os import read, write

MAX_BYTES = 8 * 1024**2
"""Of one frame, but for the candidate's source."""
SILENCES = 10
"""A process is silent if it lets a socket wait that often: each time for the same time."""
_HEAD_BYTES = 4
_JOB_HEAD_BYTES = 8
_CHUNK_BYTES = 1 << 16
_JOB_CHUNK_BYTES = 1 << 20


class Closed(Exception):
    """The other process has gone, or has closed its end."""


class BadFrame(Exception):
    """What came is no frame, or too long a one: no honest candidate sends it."""


def send(fd: int, body: bytes) -> None:
    """Send one frame, or raise `Closed`."""
    unsent = memoryview(len(body).to_bytes(_HEAD_BYTES, "big") + body)
    while unsent:
        try:
            unsent = unsent[write(fd, unsent) :]
        except OSError:
            raise Closed from None


def receive(
    fd: int, limit: int = MAX_BYTES, report_silence: Callable[[], None] | None = None
) -> bytes:
    """Take one frame and all that has come with it.

    Call `report_silence` each time that nothing came for as long as the socket waits.
    """
    data = _read(fd, report_silence)
    while len(data) < _HEAD_BYTES:
        data += _read(fd, report_silence)
    size = int.from_bytes(data[:_HEAD_BYTES], "big")
    if size > limit:
        raise BadFrame("a message of more than 8 MiB")
    chunks, missing = [data[_HEAD_BYTES:]], size + _HEAD_BYTES - len(data)
    while missing > 0:
        chunks.append(_read(fd, report_silence))
        missing -= len(chunks[-1])
    if missing:
        raise BadFrame("more than one message at once")
    return b"".join(chunks)


def _read(fd: int, report_silence: Callable[[], None] | None) -> bytes:
    while True:
        try:
            chunk = read(fd, _CHUNK_BYTES)
        except OSError as error:
            if report_silence is None or not isinstance(error, BlockingIOError):
                raise Closed from None
            report_silence()
            continue
        if not chunk:
            raise Closed
        return chunk


def read_job(fd: int) -> tuple[str, str, list[str]]:
    """Read nonce, source and targets from the engine, and nothing after them."""
    size = int.from_bytes(_read_exactly(fd, _JOB_HEAD_BYTES), "big")
    job = json.loads(_read_exactly(fd, size))
    return job["nonce"], job["source"], job["targets"]


def _read_exactly(fd: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = read(fd, min(size - len(data), _JOB_CHUNK_BYTES))
        if not chunk:
            raise EOFError("the engine has gone")
        data += chunk
    return bytes(data)
