"""What is wrong with a file of rows: each bad line counted, the first few of them told.

    a.jsonl:3:6: not JSON: expecting ':' delimiter; also lines 9 and 12; 3 of 90 lines cannot …

All at once, because who mends a file would rather not run it again for every line.
"""

from typing import NamedTuple

from evalwright.errors import BadDataset
from evalwright.lines import BadLine, show_path

MOST_TOLD = 5
"""Of the bad lines of a file, how many are told one by one."""
UTF8 = "save the file as UTF-8"
_NOT_TEXT = {
    "too_long": "the line is longer than 16 MiB",
    "binary": "this is a binary file, not text",
    "utf-16": f"this file is UTF-16; {UTF8}",
}


class UnreadableLine(NamedTuple):
    """One line that cannot be read."""

    line: int
    column: int | None
    """In characters, from 1; None where the whole line is meant."""
    detail: str
    hint: str = ""


class UnreadableLines:
    """The bad lines of one file, as many as there are."""

    def __init__(self, path: str) -> None:
        self._path = show_path(path)
        self._told: list[UnreadableLine] = []
        self.count = 0

    def add(self, fault: UnreadableLine | None) -> None:
        """Count its line, once; None is a line that was good after all."""
        if fault and all(fault.line != told.line for told in self._told):
            self.count += 1
            if len(self._told) < MOST_TOLD:
                self._told.append(fault)

    def error(self, lines: int) -> BadDataset:
        """What to raise when all `lines` have been seen."""
        first, *others = self._told
        column = f":{first.column}" if first.column else ""
        parts = [f"{self._path}:{first.line}{column}: {first.detail}"]
        if others:
            numbers = [str(other.line) for other in others]
            more = self.count - len(self._told)
            named = f"{', '.join(numbers)}…" if more else _listed(numbers)
            parts.append(f"also line{'s' if len(numbers) > 1 else ''} {named}")
            parts.append(f"{min(self.count, lines)} of {lines} lines cannot be read")
        return BadDataset("; ".join(parts), hint=first.hint)


def not_text(number: int, line: BadLine) -> UnreadableLine:
    """A line that was not worth reading."""
    hint = "is it named after what it is?" if line.why == "binary" else ""
    return UnreadableLine(number, None, _NOT_TEXT[line.why], hint)


def not_utf8(number: int, line: bytes) -> UnreadableLine | None:
    """The first byte of a line that is no UTF-8; None where all of it is."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        detail = f"byte 0x{line[error.start]:02x} is not UTF-8"
        return UnreadableLine(
            number, column, detail, f"{UTF8}; today it may be Latin-1 or Windows-1252"
        )
    return None


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
