"""A JSON file of any size, value by value.

    walk = Walk(file, "log.json")
    for name in walk.members():          an object: its names; each value is taken before the next
        if name == "samples":
            for number in walk.elements():
                sample = walk.value()

Promises:  memory holds one value that is taken whole, and a chunk of the file beside it. What is
           wrong is told with its line and column.
Does not:  look at names that stand twice in an object: each is handed out as it comes.
"""

import json
from collections.abc import Iterator
from typing import Any, TextIO

from evalwright.errors import BadLog

_CHUNK = 1 << 20
_LARGEST = 1 << 29
"""Characters of one value: no sample is larger, and a text that is never closed ends here."""
_NEAR_THE_END = 16
"""Characters that a literal, a number or an escape may still lack where a chunk ends."""
_SPACE = " \t\r\n"

_decode = json.JSONDecoder().raw_decode


class Walk:
    """Goes through a file once, from its beginning."""

    def __init__(self, file: TextIO, name: str, *, chunk: int = _CHUNK) -> None:
        self._file, self._name, self._chunk = file, name, chunk
        self._text, self._at = "", 0
        self._line = self._column = 1
        """Of the first character of what is held."""
        self._start = 0
        """Where the value began that was taken last."""
        self._ended = False

    def peek(self) -> str:
        """The next character that says something; empty at the end."""
        while True:
            while self._at < len(self._text):
                one = self._text[self._at]
                if one not in _SPACE:
                    return one
                self._at += 1
            if not self._more():
                return ""

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._may_go_on(error) and self._more():
                    continue
                raise self.wrong(self._told(error), at=error.pos) from error
            except RecursionError as error:
                raise self.wrong("nested too deep to be read") from error
            except ValueError as error:  # a number of thousands of digits
                raise self.wrong(f"a value that cannot be read: {error}") from error
            cut = isinstance(value, int | float) and end > len(self._text) - _NEAR_THE_END
            if cut and self._more():
                continue  # a number may have more digits
            self._start, self._at = self._at, end
            return value

    def members(self) -> Iterator[str]:
        """The names of an object's values."""
        self._expect("{", "an object")
        first = True
        while self.peek() != "}":
            if not first:
                self._expect(",", "`,` or `}`")
                self.peek()
            first = False
            name = self.value()
            if not isinstance(name, str):
                raise self.wrong("expected a name in quotes")
            self._expect(":", "`:`")
            yield name
        self._at += 1

    def elements(self) -> Iterator[int]:
        """The numbers of a list's values, from 0."""
        self._expect("[", "a list")
        number = 0
        while self.peek() != "]":
            if number:
                self._expect(",", "`,` or `]`")
            yield number
            number += 1
        self._at += 1

    def end(self) -> None:
        """Nothing may follow."""
        if self.peek():
            raise self.wrong("expected the end of the file")

    def place(self) -> str:
        """Where the value began that was taken last: file, line and column."""
        return self._place(self._start)

    def wrong(self, what: str, *, at: int | None = None) -> BadLog:
        """What is wrong, here."""
        return BadLog(f"{self._place(self._at if at is None else at)}: {what}")

    def _place(self, at: int) -> str:
        before = self._text[:at]
        ends = before.count("\n")
        column = at - before.rfind("\n") if ends else self._column + at
        return f"{self._name}:{self._line + ends}:{column}"

    def _expect(self, character: str, called: str) -> None:
        found = self.peek()
        if found != character:
            got = f"got `{found}`" if found else "the file ends: it is cut short"
            raise self.wrong(f"expected {called}, {got}")
        self._at += 1

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """Whether more of the file could mend it."""
        near = error.pos >= len(self._text) - _NEAR_THE_END
        return near or error.msg.startswith("Unterminated string")

    def _told(self, error: json.JSONDecodeError) -> str:
        if error.pos >= len(self._text) or error.msg.startswith("Unterminated string"):
            return "the file ends in the middle of a value: it is cut short"
        return f"not JSON: {error.msg.lower()}"

    def _more(self) -> bool:
        """Read on, at least as much as is held: a large value is tried a few times, not many."""
        held = len(self._text) - self._at
        if held > _LARGEST:
            raise self.wrong(f"one value of more than {_LARGEST:,} characters")
        try:
            more = "" if self._ended else self._file.read(max(self._chunk, held))
        except UnicodeDecodeError as error:
            raise self.wrong("not UTF-8", at=len(self._text)) from error
        self._ended = not more
        if more:  # at the end, places in what is held stay what they are
            self._let_go()
            self._text += more
        return bool(more)

    def _let_go(self) -> None:
        done = self._text[: self._at]
        ends = done.count("\n")
        self._line += ends
        self._column = len(done) - done.rfind("\n") if ends else self._column + len(done)
        self._text, self._at = self._text[self._at :], 0
