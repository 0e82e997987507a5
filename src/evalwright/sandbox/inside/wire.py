"""Frames over a stream socket: their length, then JSON.

Candidate and evaluator take turns, so nothing follows a frame until it is answered. The engine
sends its one job as text, with a longer head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import read, write

MAX_BYTES = 8 * 1024**2
"""Of one frame, but for the candidate's source."""
SILENCES = 10
"""A process is silent if it lets a socket wait that often: each time for the same time."""
_HEAD_BYTES = 4
_JOB_HEAD_BYTES = 8
_CHUNK_BYTES = 1 << 16
_CONFINED = b"."
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


def report_confinement(fd: int) -> None:
    """Before the first frame: say that this process cannot do harm any more."""
    write(fd, _CONFINED)


def receive_confinement(fd: int) -> bool:
    """Wait until the other process is confined; return False if it has gone before."""
    while True:
        try:
            return read(fd, len(_CONFINED)) == _CONFINED
        except BlockingIOError:  # it was silent for a while
            continue
        except OSError:
            return False


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


def pack_job(nonce: str, source: str, targets: Sequence[str]) -> bytes:
    """What the engine sends: a line with the sizes of the parts, and the parts."""
    parts = [part.encode("utf-8", "surrogatepass") for part in (nonce, source, *targets)]
    body = b" ".join(b"%d" % len(part) for part in parts) + b"\n" + b"".join(parts)
    return len(body).to_bytes(_JOB_HEAD_BYTES, "big") + body


def read_job(fd: int) -> tuple[str, str, list[str]]:
    """Read nonce, source and targets from the engine, and nothing after them."""
    size = int.from_bytes(_read_exactly(fd, _JOB_HEAD_BYTES), "big")
    sizes, _, rest = _read_exactly(fd, size).partition(b"\n")
    parts, start = [], 0
    for length in sizes.split():
        end = start + int(length)
        parts.append(rest[start:end].decode("utf-8", "surrogatepass"))
        start = end
    nonce, source, *targets = parts
    return nonce, source, targets


def _read_exactly(fd: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = read(fd, min(size - len(data), _JOB_CHUNK_BYTES))
        if not chunk:
            raise EOFError("the engine has gone")
        data += chunk
    return bytes(data)
