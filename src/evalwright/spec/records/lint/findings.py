"""The nouns of lint: what a rule is shown, and what it says.

LintedRecord   one record, read once for all rules
Finding        what a rule says about a record
Places         where the records stand, to speak of one in a sentence about another
Rule           is shown every record and asked at the end
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
    """The first that does so in another category, where there is none in its own."""
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
    """What a rule says: about a record, or about the file, at the first record it is about."""

    record: int
    rule: str
    field: str
    detail: str
    of_file: bool = False


class Rule:
    """Is shown every record in order, and asked once more at the end."""

    name: str

    def look(self, record: LintedRecord) -> Iterable[Finding]:  # noqa: ARG002 - for subclasses
        """Say what this record, and those before it, settle."""
        return ()

    def end(self) -> Iterable[Finding]:
        """Say what only the whole file settles."""
        return ()


class Places:
    """The line and the id of every record; the ids are those that `check` keeps anyway."""

    def __init__(self) -> None:
        self._lines = array("Q")
        self._ids: list[str] = []

    def add(self, line: int, task_id: str) -> int:
        """Remember one, and return its number."""
        self._lines.append(line)
        self._ids.append(task_id)
        return len(self._ids) - 1

    def describe(self, record: int) -> str:
        """Return the record's name in a sentence."""
        return f"line {self._lines[record]} (`{self._ids[record]}`)"

    def issue(self, finding: Finding) -> Issue:
        """Return a finding as an issue; one of the whole file belongs to no task."""
        return Issue(
            line=self._lines[finding.record],
            rule=finding.rule,
            field=finding.field,
            task_id=None if finding.of_file else self._ids[finding.record],
            detail=finding.detail,
            level="warning",
        )


def explain_repeat(record: LintedRecord) -> str:
    """Return what follows from a question that was asked before."""
    if not record.seen.contradicts:
        return "so the question counts twice; remove one"
    if record.task.category in ("summary", "code_exec"):  # two targets may both be right
        return "with other targets, so the question counts twice; make them one record"
    return "with other targets: at most one of the two can be right; remove the other"


def normalize(text: str) -> str:
    """Return the text with case and whitespace set aside."""
    return " ".join(text.split()).casefold()


def quote_text(text: str) -> str:
    """Return the text for a sentence: one line, cut short, in backticks."""
    line = " ".join(text.split())
    return f"`{line if len(line) <= _LONGEST else f'{line[: _LONGEST - 1]}…'}`"
