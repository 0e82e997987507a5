"""What a process prints, line by line, with the name of the file whose code printed it."""

import time
from collections.abc import Callable

MAX_LOG_BYTES = 256 * 1024
"""Of what one batch of calls prints, a second; the rest is read, and dropped."""
_LINE_BYTES = 64
"""What a line costs beside its text: a million empty ones are no small matter."""

Log = Callable[[str], None]


class Lines:
    """Passes on what is whole, up to a size."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._line = b""
        self._left = 0
        self._since = 0.0
        self.name = ""
        """Whose code prints."""
        self.last = ""
        """The last line that was not empty."""

    def begin(self, name: str) -> None:
        """From now on another's, who has a full size again."""
        self.end()
        self.name = name
        self._left, self._since = MAX_LOG_BYTES, time.monotonic()

    def take(self, chunk: bytes) -> None:
        """Pass on what is whole of it."""
        if time.monotonic() - self._since > 1:
            self._left, self._since = MAX_LOG_BYTES, time.monotonic()
        if not chunk or self._left < 0:
            return
        most = self._left // _LINE_BYTES + 1
        *lines, self._line = (self._line + chunk[: self._left]).split(b"\n")
        self._left -= len(chunk) + _LINE_BYTES * max(0, len(lines) - 1)
        for line in lines[:most]:
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
        text = _plain(line.decode("utf-8", "replace"))
        self.last = text.strip() or self.last
        self._log(f"{self.name}: {text}" if self.name else text)


def _plain(text: str) -> str:
    """Without what a terminal would obey: a snippet may print what a model has said."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
