"""The result of validating documents, with one entry per file.

Warnings (deprecated syntax, unset variables) are kept separately and do not make a file invalid.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from evalwright.errors import Unreadable
from evalwright.spec.checking import Checking, drop_duplicates
from evalwright.spec.documents.yaml.text_files import MAX_BYTES
from evalwright.types import Issue
from evalwright.vocabulary import MAX_RAW_CHARACTERS


class DocumentCheck(Checking):
    """A checked file of a project."""

    noun = "document"

    def __init__(self, file: str, issues: Iterable[Issue], *, kind: str) -> None:
        super().__init__(file)
        self.kind = kind
        self._issues: list[Issue] = []
        lines = _read_lines(file)
        for issue in sorted(issues, key=lambda issue: (issue.line, issue.column or 0)):
            if issue.rule == "unreadable" and not issue.field:
                self.unreadable = Unreadable(f"{file}: {issue.detail}")
                continue
            same_level = issue.level == self.level
            (self._issues if same_level else self.warnings).append(_quote_line(issue, lines))
        self.valid = int(not self._issues and not self.unreadable)

    def __iter__(self) -> Iterator[Issue]:
        self.rules = {}
        for issue in self._issues:
            self.rules[issue.rule] = self.rules.get(issue.rule, 0) + 1
            yield issue


def check_documents(
    files: Iterable[str], issues: Iterable[Issue], kinds: Mapping[str, str]
) -> Iterator[DocumentCheck]:
    """Yield each file that was read or has an issue, with its kind, in reading order."""
    by_file: dict[str, list[Issue]] = {file: [] for file in files}
    for issue in drop_duplicates(issues):
        by_file.setdefault(issue.file, []).append(issue)
    for file, its_issues in by_file.items():
        yield DocumentCheck(file, its_issues, kind=kinds.get(file, "included"))


def _quote_line(issue: Issue, lines: list[str]) -> Issue:
    """Add the text of the issue's line; if the column is unknown, use the first character."""
    at = issue.line - 1
    raw = lines[at][:MAX_RAW_CHARACTERS] if 0 <= at < len(lines) else ""
    text = raw.replace("\t", " ")
    start = len(text) - len(text.lstrip()) + 1 if text.strip() and text.isprintable() else None
    return replace(issue, column=issue.column or start, raw=raw)


def _read_lines(file: str) -> list[str]:
    """Return the lines of a file; empty if it is not text or is too long."""
    try:
        if not Path(file).is_file():
            return []  # a pipe can be read only once
        with Path(file).open("rb") as opened:
            return opened.read(MAX_BYTES).decode("utf-8-sig").splitlines()
    except (OSError, ValueError):
        return []
