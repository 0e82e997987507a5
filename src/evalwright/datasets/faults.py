"""Bad lines in a dataset file: all are counted, and the first few are listed.

a.jsonl:3:6: not JSON: expecting ':' delimiter; also lines 9 and 12; 3 of 90 lines cannot …
"""

from typing import NamedTuple

from evalwright.errors import BadDataset
from evalwright.lines import BadLine, show_path

MOST_LISTED = 5
"""Maximum number of bad lines that an error lists."""
UTF8 = "save the file as UTF-8"
_NOT_TEXT = {
    "too_long": "the line is longer than 16 MiB",
    "binary": "this is a binary file, not text",
    "utf-16": f"this file is UTF-16; {UTF8}",
}


class UnreadableLine(NamedTuple):
    """A line that cannot be read."""

    line: int
    column: int | None
    """Column in characters, from 1; None for the whole line."""
    detail: str
    hint: str = ""


class UnreadableLines:
    """Collects the bad lines of one file."""

    def __init__(self, path: str) -> None:
        self._path = show_path(path)
        self._first: list[UnreadableLine] = []
        self.count = 0

    def add(self, fault: UnreadableLine | None) -> None:
        """Count a bad line once; None means that the line is good."""
        if fault and all(fault.line != first.line for first in self._first):
            self.count += 1
            if len(self._first) < MOST_LISTED:
                self._first.append(fault)

    def error(self, lines: int) -> BadDataset:
        """Return the error to raise after all `lines` have been read."""
        first, *others = self._first
        column = f":{first.column}" if first.column else ""
        parts = [f"{self._path}:{first.line}{column}: {first.detail}"]
        if others:
            numbers = [str(other.line) for other in others]
            *start, last = numbers
            named = f"{', '.join(start)} and {last}" if start else last
            if self.count > len(self._first):
                named = f"{', '.join(numbers)}…"
            parts.append(f"also line{'s' if start else ''} {named}")
            parts.append(f"{min(self.count, lines)} of {lines} lines cannot be read")
        return BadDataset("; ".join(parts), hint=first.hint)


def explain_bytes(number: int, line: bytes) -> UnreadableLine | None:
    """Explain why a line is not text; None if it is."""
    return not_text(number, line) if isinstance(line, BadLine) else not_utf8(number, line)


def not_text(number: int, line: BadLine) -> UnreadableLine:
    """Explain why a line was not read."""
    hint = "does the file have the right extension?" if line.why == "binary" else ""
    return UnreadableLine(number, None, _NOT_TEXT[line.why], hint)


def not_utf8(number: int, line: bytes) -> UnreadableLine | None:
    """Return the position of the first byte that is not UTF-8; None if there is none."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        detail = f"byte 0x{line[error.start]:02x} is not UTF-8"
        return UnreadableLine(number, column, detail, f"{UTF8}; it may be Latin-1 or Windows-1252")
    return None
