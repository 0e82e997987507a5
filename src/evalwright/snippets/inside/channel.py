"""The child's connection to the engine: a socket, output streams and shared memory.

Engine and child exchange one JSON object per line. The socket is separate from the standard
streams. Messages from forks of this process are ignored. The shared memory shows what the process
is doing. Setting a mark needs no system call, and marks survive the process, so the engine knows
which call ended it. Engine and child read the same clock.
"""

import json
import mmap
import os
import signal
import socket
import struct
import sys
import threading
import time
from typing import IO, Any, NoReturn

from .results import CallFailed, encode_result

SLOTS = 65
"""Number of slots: one for the main thread and one per thread that runs an author's function."""
SIZE = 4096

_SLOT = struct.Struct("=qd")
_FULL_BYTES = 1024**2
_CHUNK_BYTES = 256 * 1024
_LOOK_S = 2.0


class Channel:
    """Sends lines to the engine and receives its lines."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._unread = bytearray()
        self._lines: list[bytes] = []
        self._done: list[bytes] = []
        self._asks: list[bytes] = []
        self._size = 0
        self.is_copy = False
        self.max_bytes = 0
        """Maximum size of a value in bytes."""
        os.register_at_fork(after_in_child=lambda: setattr(self, "is_copy", True))

    def read(self) -> Any:
        """Wait for the next line. If the engine has ended, end this process."""
        while not self._lines:
            self._receive(0)
        return json.loads(self._lines.pop(0))

    def read_available(self) -> list[Any]:
        """Return the lines that have arrived, without waiting."""
        if self.is_copy:
            os._exit(0)
        self._receive(socket.MSG_DONTWAIT)
        lines, self._lines = self._lines, []
        return [json.loads(line) for line in lines]

    def fileno(self) -> int:
        """Return the file descriptor, for selectors."""
        return self._socket.fileno()

    def add_result(self, number: int, value: Any, place: str = "") -> None:
        """Queue the value of a call, or `CallFailed`."""
        if not isinstance(value, CallFailed):
            try:
                result = encode_result(value, place, self.max_bytes)
            except CallFailed as failed:
                value = failed
            else:
                self._queue(self._done, b"[%d,%b]" % (number, result))
                return
        self._queue(self._done, b"[%d,null,%b]" % (number, _encode(value.to_json())))

    def add_question(self, number: int, ask: int, question: bytes) -> None:
        """Queue a call's query to the model."""
        self._queue(self._asks, b"[%d,%d,%b]" % (number, ask, question))

    def flush(self) -> None:
        """Send all queued messages."""
        if self._done or self._asks:
            parts = b",".join(self._done), b",".join(self._asks)
            self._done, self._asks, self._size = [], [], 0
            self._send(b'{"done":[%b],"asks":[%b]}\n' % parts)

    def send_state(self, **state: bool) -> None:
        """Send a message about the process itself, after the queued messages."""
        self.flush()
        self._send(_encode(state) + b"\n")

    def _queue(self, parts: list[bytes], part: bytes) -> None:
        parts.append(part)
        self._size += len(part)
        if self._size > _FULL_BYTES:
            self.flush()

    def _receive(self, flags: int) -> None:
        try:
            chunk = self._socket.recv(_CHUNK_BYTES, flags)
        except BlockingIOError:
            return
        except OSError:  # the author's code has closed the socket
            os._exit(1)
        if not chunk:
            end_group()
        self._unread += chunk
        if b"\n" in chunk:
            *lines, self._unread = self._unread.split(b"\n")
            self._lines += map(bytes, lines)

    def _send(self, line: bytes) -> None:
        if self.is_copy:
            os._exit(0)
        try:
            self._socket.sendall(line)
        except OSError:
            os._exit(1)


class Streams:
    """`sys.stdout` and `sys.stderr`, restored for every call."""

    def __init__(self) -> None:
        self._log = os.dup(1)
        self._own: list[IO[str]] = []

    def restore(self) -> None:
        """Restore streams that were closed or replaced."""
        own = self._own
        unchanged = own and own[0] is sys.stdout and own[1] is sys.stderr
        if not unchanged or own[0].closed or own[1].closed:
            self._own = [self._open(), self._open()]
            sys.stdout, sys.stderr = self._own

    def flush(self) -> None:
        """Send the printed output to the engine."""
        for stream in self._own:
            try:
                stream.flush()
            except (OSError, ValueError) as closed:
                del closed

    def _open(self) -> IO[str]:
        return open(
            self._log, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )


class Activity:
    """One number per slot: a call, a source being loaded (negative), or 0 if idle."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)

    def begin(self, number: int, slot: int = 0) -> None:
        """Mark the start of a call or source."""
        _SLOT.pack_into(self._memory, slot * _SLOT.size, number, time.monotonic())

    def end(self, slot: int = 0) -> None:
        """Remove the mark."""
        _SLOT.pack_into(self._memory, slot * _SLOT.size, 0, 0.0)

    def read(self) -> list[tuple[int, int, float]]:
        """Return the slot, number and start time of everything that is running."""
        slots = enumerate(_SLOT.iter_unpack(self._memory[: SLOTS * _SLOT.size]))
        return [(slot, number, since) for slot, (number, since) in slots if number]

    def beat(self, *, alive: bool) -> None:
        """Record that the event loop is running or, if not `alive`, that it is idle."""
        _SLOT.pack_into(self._memory, SLOTS * _SLOT.size, 0, time.monotonic() if alive else 0.0)

    def last_beat(self) -> float:
        """Return the time when the event loop last ran; 0 if it is idle."""
        _, since = _SLOT.unpack_from(self._memory, SLOTS * _SLOT.size)
        return float(since)

    def close(self) -> None:
        """Unmap the memory."""
        self._memory.close()


def watch_engine() -> None:
    """End this process when the engine ends, even if a hanging call does not read the socket."""
    engine = os.getppid()

    def watch() -> None:
        while os.getppid() == engine:
            time.sleep(_LOOK_S)
        end_group()

    threading.Thread(target=watch, name="engine", daemon=True).start()


def end_group() -> NoReturn:
    """End this process and all processes that it started."""
    if os.getpid() == os.getpgrp():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _encode(record: Any) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()
