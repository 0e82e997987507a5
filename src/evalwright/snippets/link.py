"""Lines to a child and from it, in the loop that runs. Nothing here waits."""

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Literal

from evalwright.snippets.log import Lines

_CHUNK_BYTES = 256 * 1024


class Link:
    """A socket to a child, and the pipe that it prints to.

    `heard` is called with each line, `lost` once when no more can come.
    """

    def __init__(
        self,
        channel: socket.socket,
        output: int,
        printed: Lines,
        *,
        heard: Callable[[bytearray], None],
        lost: Callable[[], None],
        max_bytes: int,
    ) -> None:
        self._channel, self._output, self._printed = channel, output, printed
        self._heard, self._lost = heard, lost
        self._max_bytes = max_bytes
        self._unsent = bytearray()
        self._unread = bytearray()
        self._over = False
        self._loop = asyncio.get_running_loop()
        channel.settimeout(0)
        os.set_blocking(output, False)
        self._loop.add_reader(channel, self._readable)
        self._loop.add_reader(output, self.listen)

    def send(self, data: bytes) -> None:
        """Have all of it sent, in time."""
        if self._over:
            return
        waiting = bool(self._unsent)
        self._unsent += data
        if not waiting:
            self._write()
            if self._unsent:
                self._loop.add_writer(self._channel, self._writable)

    def drain(self) -> None:
        """Hear what was said until now."""
        while not self._over and self._receive() == "more":
            pass
        self.listen()

    def listen(self) -> None:
        """Take what was printed until now."""
        while True:
            try:
                chunk = os.read(self._output, _CHUNK_BYTES)
            except BlockingIOError:
                return
            if not chunk:  # it has closed its streams
                self._loop.remove_reader(self._output)
                return
            self._printed.take(chunk)

    def close(self) -> None:
        """Hear no more."""
        self._loop.remove_reader(self._channel)
        self._loop.remove_writer(self._channel)
        self._loop.remove_reader(self._output)
        self._over = True
        self._printed.end()
        self._channel.close()
        os.close(self._output)

    def _writable(self) -> None:
        self._write()
        if not self._unsent:
            self._loop.remove_writer(self._channel)

    def _write(self) -> None:
        try:
            sent = self._channel.send(self._unsent)
        except BlockingIOError:
            return
        except OSError:  # it died before it had read all, which its silence will tell
            sent = len(self._unsent)
        del self._unsent[:sent]

    def _readable(self) -> None:
        if self._receive() == "end" and not self._over:
            self._loop.remove_reader(self._channel)
            self._lost()

    def _receive(self) -> Literal["more", "none", "end"]:
        """Whether something came, and whether anything can."""
        try:
            chunk = self._channel.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return "none"
        except OSError:
            chunk = b""
        if not chunk:
            return "end"
        self._unread += chunk
        if b"\n" in chunk:
            *lines, self._unread = self._unread.split(b"\n")
            for line in lines:
                self._heard(line)
        # Who says more than a result is no longer the script.
        return "more" if len(self._unread) <= self._max_bytes else "end"
