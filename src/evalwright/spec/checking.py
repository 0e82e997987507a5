"""One file being checked: iterate for its issues, then read the counts.

Nothing is kept, so a file of any size is checked in the memory of its ids.
"""

from collections.abc import Iterator
from typing import Literal

from evalwright.errors import Unreadable
from evalwright.types import Issue, TaskSpec


class Checking:
    """Iterate once; `valid`, `errors` and `unreadable` are right when the iteration ends."""

    kind = "records"
    noun = "record"
    """What is counted as valid."""
    level: Literal["error", "warning"] = "error"
    """How bad an issue is."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.valid = 0
        self.rules: dict[str, int] = {}
        """How many issues there are of each rule."""
        self.warnings: list[Issue] = []
        """What is accepted, and should be written otherwise now."""
        self.unreadable: Unreadable | None = None
        """Set when the file could not be read to its end; the issues found before still count."""

    @property
    def errors(self) -> int:
        """How many issues there are."""
        return sum(self.rules.values())

    def __iter__(self) -> Iterator[Issue]:
        from evalwright.spec.records.check import check_file

        try:
            for item in check_file(self.file):
                if isinstance(item, TaskSpec):
                    self.valid += 1
                else:
                    self.rules[item.rule] = self.rules.get(item.rule, 0) + 1
                    yield item
        except Unreadable as error:
            self.unreadable = error
