"""Read a JSON file of any size, value by value.

    stream = JsonStream(file, "log.json")
    for name in stream.members():        an object: read each value before the next name
        if name == "samples":
            for number in stream.elements():
                sample = stream.read_value()

Promises:  memory holds one value and one chunk of the file. Errors have line and column.
Does not:  check for names that stand twice in an object.
"""

import json
from collections.abc import Iterator
from typing import Any, TextIO

from evalwright.errors import BadLog

_CHUNK = 1 << 20
_LARGEST = 1 << 29
"""Most characters of one value: no sample is larger; a string that is never closed ends here."""
_NEAR_THE_END = 16
"""Characters that a literal, a number or an escape may lack where a chunk ends."""
_SPACE = " \t\r\n"

_decode = json.JSONDecoder().raw_decode


class JsonStream:
    """Reads a file once, from its beginning."""

    def __init__(self, file: TextIO, name: str, *, chunk: int = _CHUNK) -> None:
        self._file, self._name, self._chunk = file, name, chunk
        self._text, self._at = "", 0
        self._line = self._column = 1
        """Of the first character of the buffer."""
        self._value_start = 0
        self._is_exhausted = False

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in _SPACE:
                    return character
                self._at += 1
            if not self._read_more():
                return ""

    def read_value(self) -> Any:
        """Read the next value, whole."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._may_be_cut(error) and self._read_more():
                    continue
                raise self.error(self._explain(error), at=error.pos) from error
            except RecursionError as error:
                raise self.error("nested too deep to be read") from error
            except ValueError as error:  # a number of thousands of digits
                raise self.error(f"a value that cannot be read: {error}") from error
            may_be_cut = isinstance(value, int | float) and end > len(self._text) - _NEAR_THE_END
            if may_be_cut and self._read_more():
                continue  # a number may have more digits
            self._value_start, self._at = self._at, end
            return value

    def members(self) -> Iterator[str]:
        """Yield the names of an object; the caller reads each value."""
        self._expect("{", "an object")
        is_first = True
        while self.peek() != "}":
            if not is_first:
                self._expect(",", "`,` or `}`")
                self.peek()
            is_first = False
            name = self.read_value()
            if not isinstance(name, str):
                raise self.error("expected a name in quotes")
            self._expect(":", "`:`")
            yield name
        self._at += 1

    def elements(self) -> Iterator[int]:
        """Yield the indexes of a list, from 0; the caller reads each value."""
        self._expect("[", "a list")
        number = 0
        while self.peek() != "]":
            if number:
                self._expect(",", "`,` or `]`")
            yield number
            number += 1
        self._at += 1

    def expect_end(self) -> None:
        """Raise if anything follows."""
        if self.peek():
            raise self.error("expected the end of the file")

    def locate_value(self) -> str:
        """Return where the last value began: file, line and column."""
        return self._locate(self._value_start)

    def error(self, what: str, *, at: int | None = None) -> BadLog:
        """Return the error for something wrong here, or `at` a position of the buffer."""
        return BadLog(f"{self._locate(self._at if at is None else at)}: {what}")

    def _locate(self, at: int) -> str:
        line, column = self._position(at)
        return f"{self._name}:{line}:{column}"

    def _position(self, at: int) -> tuple[int, int]:
        before = self._text[:at]
        newlines = before.count("\n")
        column = at - before.rfind("\n") if newlines else self._column + at
        return self._line + newlines, column

    def _expect(self, character: str, called: str) -> None:
        actual = self.peek()
        if actual != character:
            got = f"got `{actual}`" if actual else "the file ends: it is cut short"
            raise self.error(f"expected {called}, {got}")
        self._at += 1

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether more of the file could mend the error."""
        is_near_the_end = error.pos >= len(self._text) - _NEAR_THE_END
        return is_near_the_end or error.msg.startswith("Unterminated string")

    def _explain(self, error: json.JSONDecodeError) -> str:
        if error.pos >= len(self._text) or error.msg.startswith("Unterminated string"):
            return "the file ends in the middle of a value: it is cut short"
        return f"not JSON: {error.msg.lower()}"

    def _read_more(self) -> bool:
        """Read at least as much as is buffered: a large value is decoded a few times, not many."""
        buffered = len(self._text) - self._at
        if buffered > _LARGEST:
            raise self.error(f"one value of more than {_LARGEST:,} characters")
        try:
            more = "" if self._is_exhausted else self._file.read(max(self._chunk, buffered))
        except UnicodeDecodeError as error:
            raise self.error("not UTF-8", at=len(self._text)) from error
        self._is_exhausted = not more
        if more:  # at the end, positions in the buffer stay what they are
            self._line, self._column = self._position(self._at)
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)
