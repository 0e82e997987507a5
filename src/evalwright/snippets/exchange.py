"""Talk with a child over its socket, and pass on what it prints. Nothing here waits for ever."""

import os
import selectors
import socket
from collections.abc import Callable
from contextlib import suppress

MAX_LOG_BYTES = 256 * 1024
"""Of what the calls of one batch print; the rest is read, and dropped."""

_CHUNK_BYTES = 256 * 1024

Log = Callable[[str], None]


class Exchange:
    """Lines to a child and from it, while what it prints is taken to the log."""

    def __init__(
        self, channel: socket.socket, output: int, log: "Lines", *, max_bytes: int
    ) -> None:
        self._channel, self._output, self._log = channel, output, log
        self._max_bytes = max_bytes
        self._selector = selectors.DefaultSelector()
        self._selector.register(channel, selectors.EVENT_READ, self._talk)
        self._selector.register(output, selectors.EVENT_READ, self._listen)
        self._unsent = memoryview(b"")
        self._unread = bytearray()
        self._lines: list[bytearray] = []
        self.closed = False
        """Whether the child can say no more."""

    def send(self, data: bytes) -> None:
        """Have all of it sent, in time."""
        self._unsent = memoryview(data)
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        self._selector.modify(self._channel, both, self._talk)

    def wait(self, timeout_s: float) -> list[bytearray]:
        """The lines that came, after waiting for some."""
        for key, events in self._selector.select(max(0.0, timeout_s)):
            key.data(events)
        return self._take_lines()

    def drain(self) -> list[bytearray]:
        """The lines that are there now."""
        while self._receive():
            pass
        return self._take_lines()

    def close(self) -> None:
        """Take what was printed until now, and wait for nothing more."""
        while self._listen():
            pass
        self._log.end()
        self._selector.close()

    def _talk(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            try:
                self._unsent = self._unsent[self._channel.send(self._unsent) :]
            except BlockingIOError:
                pass
            except OSError:  # it died before it had read all
                self._unsent = self._unsent[:0]
            if not self._unsent:
                self._selector.modify(self._channel, selectors.EVENT_READ, self._talk)
        if events & selectors.EVENT_READ:
            self._receive()

    def _receive(self) -> bool:
        try:
            chunk = self._channel.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        self._unread += chunk
        if b"\n" in chunk:
            *lines, self._unread = self._unread.split(b"\n")
            self._lines += lines
        if not chunk or len(self._unread) > self._max_bytes:
            self.closed = True
        return not self.closed

    def _take_lines(self) -> list[bytearray]:
        lines, self._lines = self._lines, []
        return lines

    def _listen(self, _events: int = 0) -> bool:
        try:
            chunk = os.read(self._output, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            with suppress(KeyError):  # it has closed its streams
                self._selector.unregister(self._output)
        self._log.take(chunk)
        return bool(chunk)


class Lines:
    """What a child prints, line by line, up to a size."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._line = b""
        self._left = 0
        self.last = ""
        """The last line that was not empty."""

    def begin(self) -> None:
        """Allow a full size again."""
        self._left = MAX_LOG_BYTES

    def take(self, chunk: bytes) -> None:
        """Pass on what is whole of it."""
        if not chunk or self._left < 0:
            return
        kept = chunk[: self._left]
        self._left -= len(chunk)
        *lines, self._line = (self._line + kept).split(b"\n")
        for line in lines:
            self._say(line)
        if self._left < 0:
            self.end()
            self._log(f"… more than {MAX_LOG_BYTES} bytes were printed, the rest is dropped")

    def end(self) -> None:
        """Pass on a line that has no end."""
        line, self._line = self._line, b""
        if line:
            self._say(line)

    def _say(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        self.last = text.strip() or self.last
        self._log(text)
