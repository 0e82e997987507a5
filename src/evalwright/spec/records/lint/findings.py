"""The types of lint: what a rule sees, and what it reports.

LintedRecord   one record, read once for all rules
Finding        what a rule reports about a record
Places         the places of the records, to refer to one in a finding about another
Rule           sees every record, and is queried at the end
"""

from array import array
from collections.abc import Iterable
from typing import NamedTuple

from evalwright.spec.records.lint.words import PromptWords
from evalwright.types import Issue, TaskSpec

_LONGEST = 60


class Seen(NamedTuple):
    """What the records before this one had in common with it; records are numbered from 0."""

    same_text: int | None = None
    """The first of its category that renders to the same text, case and whitespace aside."""
    elsewhere: int | None = None
    """The first that does so in another category, if there is none in its own."""
    same_words: int | None = None
    """The first of the same category and examples with the same words, punctuation aside."""
    contradicts: bool = False
    """Whether none of its targets is a target of those with the same words."""


class LintedRecord(NamedTuple):
    """One record, as the rules see it."""

    number: int
    task: TaskSpec
    words: PromptWords
    prompt: int
    """Its prompt's number in the corpus."""
    seen: Seen


class Finding(NamedTuple):
    """What a rule reports: about a record, or about the file, at the first affected record."""

    record: int
    rule: str
    field: str
    detail: str
    of_file: bool = False


class Rule:
    """Sees every record in order, and is queried once more at the end."""

    name: str

    def look(self, record: LintedRecord) -> Iterable[Finding]:  # noqa: ARG002 - for subclasses
        """Return the findings that this record and those before it allow."""
        return ()

    def end(self) -> Iterable[Finding]:
        """Return the findings that need the whole file."""
        return ()


class Places:
    """The line and the id of every record; the ids are those that `check` keeps anyway."""

    def __init__(self) -> None:
        self._lines = array("Q")
        self._ids: list[str] = []

    def add(self, line: int, task_id: str) -> int:
        """Store one, and return its number."""
        self._lines.append(line)
        self._ids.append(task_id)
        return len(self._ids) - 1

    def describe(self, record: int) -> str:
        """Return the record's name for a message."""
        return f"line {self._lines[record]} (`{self._ids[record]}`)"

    def issue(self, finding: Finding) -> Issue:
        """Return a finding as an issue; one about the whole file has no task id."""
        return Issue(
            line=self._lines[finding.record],
            rule=finding.rule,
            field=finding.field,
            task_id=None if finding.of_file else self._ids[finding.record],
            detail=finding.detail,
            level="warning",
        )


def explain_repeat(record: LintedRecord) -> str:
    """Return the consequence of a question that an earlier record asks."""
    if not record.seen.contradicts:
        return "so the record counts twice; remove one"
    if record.task.category in ("summary", "code_exec"):  # two targets may both be right
        return "with different targets, so the record counts twice; merge them into one record"
    return "with different targets: at most one of the two can be right; remove the other"


def normalize(text: str) -> str:
    """Return the text without case and whitespace differences."""
    return " ".join(text.split()).casefold()


def quote_text(text: str) -> str:
    """Return the text for a message: one line, shortened, in backticks."""
    line = " ".join(text.split())
    return f"`{line if len(line) <= _LONGEST else f'{line[: _LONGEST - 1]}…'}`"
