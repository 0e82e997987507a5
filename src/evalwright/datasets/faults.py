"""Bad lines in a dataset file: all are counted, and the first few are listed.

a.jsonl:3:6: not JSON: expecting ':' delimiter; also lines 9 and 12; 3 of 90 lines cannot …

The first 100 are kept.
"""

from typing import NamedTuple

from evalwright.errors import BadDataset
from evalwright.lines import BadLine, show_path

MOST_LISTED = 5
"""Maximum number of bad lines that an error lists."""
MOST_KEPT = 100
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
    is_encoding: bool = False
    """Whether the bytes are not UTF-8 text."""


class UnreadableLines:
    """Collects the bad lines of one file."""

    def __init__(self, path: str, *, what: str = "lines cannot be read") -> None:
        """`what` ends the sentence `3 of 90 …`."""
        self.path = show_path(path)
        self.first: list[UnreadableLine] = []
        """The first bad lines."""
        self.count = 0
        self.encoding = 0
        """How many of them are not UTF-8 text."""
        self.rows = 0
        """The number of rows that these lines belong to."""
        self.fatal: UnreadableLine | None = None
        """The problem after which nothing could be read."""
        self._what = what

    def add(self, fault: UnreadableLine | None, *, once: bool = True) -> None:
        """Count a bad line; None means that the line is good.

        With `once`, a second problem in a line is ignored. Otherwise a line has several rows.
        """
        if fault and not (once and any(fault.line == first.line for first in self.first)):
            self.count += 1
            self.encoding += fault.is_encoding
            if len(self.first) < MOST_KEPT:
                self.first.append(fault)

    def error(self, lines: int) -> BadDataset:
        """Return the error to raise after all `lines` have been read."""
        first, *others = self.first[:MOST_LISTED]
        column = f":{first.column}" if first.column else ""
        parts = [f"{place_of(self.path, first.line)}{column}: {first.detail}"]
        if others:
            numbers = [str(abs(other.line)) for other in others]
            *start, last = numbers
            named = f"{', '.join(start)} and {last}" if start else last
            if self.count > MOST_LISTED:
                named = f"{', '.join(numbers)}…"
            unit = "line" if first.line > 0 else "row"
            parts.append(f"also {unit}{'s' if start else ''} {named}")
            parts.append(f"{min(self.count, lines)} of {lines} {self._what}")
        return BadDataset("; ".join(parts), hint=first.hint)


def place_of(path: str, line: int) -> str:
    """Return `a.csv:7`, or `a.parquet: row 7` for the position -7 in a file without lines."""
    return f"{path}:{line}" if line > 0 else f"{path}: row {-line}"


def explain_bytes(number: int, line: bytes) -> UnreadableLine | None:
    """Explain why a line is not text; None if it is."""
    return not_text(number, line) if isinstance(line, BadLine) else not_utf8(number, line)


def not_text(number: int, line: BadLine) -> UnreadableLine:
    """Explain why a line was not read."""
    hint = "does the file have the right extension?" if line.why == "binary" else ""
    return UnreadableLine(number, None, _NOT_TEXT[line.why], hint, line.why != "too_long")


def not_utf8(number: int, line: bytes) -> UnreadableLine | None:
    """Return the position of the first byte that is not UTF-8; None if there is none."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        detail = f"byte 0x{line[error.start]:02x} is not UTF-8"
        hint = f"{UTF8}; it may be Latin-1 or Windows-1252"
        return UnreadableLine(number, column, detail, hint, is_encoding=True)
    return None
