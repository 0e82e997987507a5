"""The check of one file: iterate over its issues, then read the counts.

Only ids are kept in memory, so a file of any size can be checked.
"""

from collections.abc import Iterable, Iterator
from os.path import isdir
from typing import Literal

from evalwright.errors import Unreadable
from evalwright.types import Issue, TaskSpec


def is_project(path: str) -> bool:
    """Whether a path contains task documents, not task records."""
    # Unlike pathlib's method, this returns False if access is denied.
    return path.endswith((".yaml", ".yml")) or isdir(path)  # noqa: PTH112


def drop_duplicates(issues: Iterable[Issue]) -> list[Issue]:
    """Keep each issue once: a file that is reached in two ways reports issues under two fields."""
    unique: dict[tuple[object, ...], Issue] = {}
    for issue in issues:
        unique.setdefault((issue.file, issue.line, issue.column, issue.rule, issue.detail), issue)
    return list(unique.values())


def sort_issues(issues: Iterable[Issue]) -> list[Issue]:
    """Keep each issue once, sorted by file and line."""
    unique = drop_duplicates(issues)
    files = list(dict.fromkeys(issue.file for issue in unique))
    order = {file: number for number, file in enumerate(files)}
    return sorted(unique, key=lambda issue: (order[issue.file], issue.line, issue.column or 0))


class Checking:
    """Iterate once. `valid`, `errors` and `unreadable` are complete when the iteration ends."""

    kind = "records"
    noun = "record"
    """Name of the units that `valid` counts."""
    level: Literal["error", "warning"] = "error"
    """Severity of the issues."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.valid = 0
        self.rules: dict[str, int] = {}
        """Number of issues per rule."""
        self.warnings: list[Issue] = []
        """Warnings, such as deprecated syntax."""
        self.unreadable: Unreadable | None = None
        """Set if the file could not be read to its end. Earlier issues still count."""

    @property
    def errors(self) -> int:
        """Number of issues."""
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
