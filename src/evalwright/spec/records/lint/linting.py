"""One file being linted: iterate for its findings, then read the counts.

The same protocol as a check, so that whatever renders a check renders this.
"""

from collections.abc import Iterator

from evalwright.errors import Unreadable
from evalwright.spec.checking import Checking
from evalwright.types import Issue, TaskSpec


class Linting(Checking):
    """Iterate once. `valid` counts the records linted, `errors` and `rules` the findings.

    A record that breaks a rule of the spec is not linted, only counted in `skipped`: `validate`
    says what is wrong with it. A file that cannot be read to its end is linted up to there.
    """

    level = "warning"

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.skipped = 0
        self.notes: list[str] = []
        """What was not looked at, in words; empty unless the file is very large."""

    def __iter__(self) -> Iterator[Issue]:
        from evalwright.spec.records.lint.linter import Linter

        linter = Linter()
        try:
            for line, task in self._located():
                linter.look(line, task)
        except Unreadable as error:
            self.unreadable = error
        self.notes = linter.notes
        for issue in linter.end():
            self.rules[issue.rule] = self.rules.get(issue.rule, 0) + 1
            yield issue

    def _located(self) -> Iterator[tuple[int, TaskSpec]]:
        """Yield the valid records, each with the number of its line."""
        from evalwright.lines import read_batches
        from evalwright.spec.records.check import check_batches

        for number, item in check_batches(read_batches(self.file)):
            if isinstance(item, TaskSpec):
                self.valid += 1
                yield number, item
            else:
                self.skipped += 1
