"""Types of lint: the input and output of rules.

LintedRecord   a record, parsed once for all rules
Finding        a finding of a rule about a record
Places         the lines and ids of records, for references in findings Rule           the base
class of rules
"""

from array import array
from collections.abc import Iterable
from typing import NamedTuple

from evalwright.spec.records.lint.words import PromptWords
from evalwright.types import Issue, TaskSpec

_LONGEST = 60


class Seen(NamedTuple):
    """Similarities of a record to earlier records, which are numbered from 0."""

    same_text: int | None = None
    """First record in the same category with the same text, ignoring case and whitespace."""
    elsewhere: int | None = None
    """First such record in a different category, if there is none in the same category."""
    same_words: int | None = None
    """First record with the same category, examples and words, ignoring punctuation."""
    contradicts: bool = False
    """Whether it has no target in common with the records with the same words."""


class LintedRecord(NamedTuple):
    """A record, prepared for the rules."""

    number: int
    task: TaskSpec
    words: PromptWords
    prompt: int
    """Number of the prompt in the corpus."""
    seen: Seen


class Finding(NamedTuple):
    """A finding about a record, or about the file, located at the first affected record."""

    record: int
    rule: str
    field: str
    detail: str
    of_file: bool = False


class Rule:
    """Receives all records in order, and may report findings per record and at the end."""

    name: str

    def look(self, record: LintedRecord) -> Iterable[Finding]:  # noqa: ARG002 - for subclasses
        """Return the findings that depend on this record and earlier records."""
        return ()

    def end(self) -> Iterable[Finding]:
        """Return the findings that depend on the whole file."""
        return ()


class Places:
    """The line and id of every record; `check` keeps the ids in any case."""

    def __init__(self) -> None:
        self._lines = array("Q")
        self._ids: list[str] = []

    def add(self, line: int, task_id: str) -> int:
        """Store the place of a record and return its number."""
        self._lines.append(line)
        self._ids.append(task_id)
        return len(self._ids) - 1

    def describe(self, record: int) -> str:
        """Describe a record for a message."""
        return f"line {self._lines[record]} (`{self._ids[record]}`)"

    def issue(self, finding: Finding) -> Issue:
        """Convert a finding to an issue. Findings about the whole file have no task id."""
        return Issue(
            line=self._lines[finding.record],
            rule=finding.rule,
            field=finding.field,
            task_id=None if finding.of_file else self._ids[finding.record],
            detail=finding.detail,
            level="warning",
        )


def explain_repeat(record: LintedRecord) -> str:
    """Return the consequence of a repeated question."""
    if not record.seen.contradicts:
        return "so the record counts twice; remove one"
    if record.task.category in ("summary", "code_exec"):  # both targets may be right
        return "with different targets, so the record counts twice; merge them into one record"
    return "with different targets: at most one of the records can be right; remove the other"


def normalize(text: str) -> str:
    """Return the text without differences in case and whitespace."""
    return " ".join(text.split()).casefold()


def quote_text(text: str) -> str:
    """Quote a text for a message: on one line, shortened, in backticks."""
    line = " ".join(text.split())
    return f"`{line if len(line) <= _LONGEST else f'{line[: _LONGEST - 1]}…'}`"
