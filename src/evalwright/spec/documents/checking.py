"""What `validate` says of documents: one entry a file, whichever way the file was reached.

Warnings (old spellings, variables that are not set) are kept apart: they make nothing invalid.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evalwright.errors import Unreadable
from evalwright.spec.checking import Checking
from evalwright.spec.documents.problems import Problem
from evalwright.types import Issue

_LONGEST_LINE = 500
_LARGEST_FILE = 10_000_000


class DocumentChecking(Checking):
    """One file of a project, checked."""

    noun = "document"

    def __init__(self, file: str, problems: Iterable[Problem], *, kind: str) -> None:
        super().__init__(file)
        self.kind = kind
        lines = _lines(file)
        found = sorted(problems, key=lambda one: (one.line, one.column or 0))
        for one in found:
            if one.rule == "unreadable" and one.field == "":
                self.unreadable = Unreadable(f"{file}: {one.detail}")
        found = [one for one in found if one.rule != "unreadable" or one.field]
        self._issues = [_issue(one, lines) for one in found if one.level == "error"]
        self.warnings = [_issue(one, lines) for one in found if one.level == "warning"]
        self.valid = int(not self._issues and not self.unreadable)

    def __iter__(self) -> Iterator[Issue]:
        self.rules = {}
        for issue in self._issues:
            self.rules[issue.rule] = self.rules.get(issue.rule, 0) + 1
            yield issue


def checked(
    files: Iterable[str], problems: Iterable[Problem], kinds: Mapping[str, str]
) -> Iterator[DocumentChecking]:
    """Each file that was read or has a problem, in the order it was met, with its kind."""
    of: dict[str, list[Problem]] = {file: [] for file in files}
    for problem in once(problems):
        of.setdefault(problem.file, []).append(problem)
    for file, its in of.items():
        yield DocumentChecking(file, its, kind=kinds.get(file, "included"))


def once(problems: Iterable[Problem]) -> list[Problem]:
    """Each mistake once: a file may be reached by two ways, under two paths."""
    found: dict[tuple[object, ...], Problem] = {}
    for one in problems:
        found.setdefault((one.file, one.line, one.column, one.rule, one.detail), one)
    return list(found.values())


def _issue(problem: Problem, lines: list[str]) -> Issue:
    at = problem.line - 1
    raw = lines[at][:_LONGEST_LINE] if 0 <= at < len(lines) else ""
    # Of a line of a template or a snippet it is not known where it begins in its file.
    text = raw.replace("\t", " ")
    start = len(text) - len(text.lstrip()) + 1 if text.strip() and text.isprintable() else None
    return Issue(
        line=problem.line,
        column=problem.column or start,
        rule=problem.rule,
        field=problem.field or None,
        detail=f"{problem.detail}; {problem.hint}" if problem.hint else problem.detail,
        raw=raw,
    )


def _lines(file: str) -> list[str]:
    """For the caret; nothing where the file is no text or far too long to be a document."""
    try:
        if not Path(file).is_file():
            return []  # what came through a pipe has gone through it
        with Path(file).open("rb") as opened:
            return opened.read(_LARGEST_FILE).decode("utf-8-sig").splitlines()
    except (OSError, ValueError):
        return []
