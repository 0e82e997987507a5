"""Lint a file: apply all rules to a stream of records.

Findings are sorted by line, with findings about the whole file last, so they are kept until the
last record has been read. Memory is limited (see `corpus`), except for about 20 bytes per record.
"""

from collections.abc import Iterator

from evalwright.errors import Unreadable
from evalwright.lines import read_batches, show_path
from evalwright.spec.checking import Checking
from evalwright.spec.records.check import check_batches
from evalwright.spec.records.lint.corpus import MOST_WORDS, PromptCorpus
from evalwright.spec.records.lint.findings import Finding, LintedRecord, Places, Rule
from evalwright.spec.records.lint.several_records import (
    DuplicatePrompt,
    NearDuplicate,
    SkewedLetters,
    UnevenLength,
)
from evalwright.spec.records.lint.single_record import RECORD_RULES
from evalwright.spec.records.lint.target_in_prompt import TargetInPrompt
from evalwright.spec.records.lint.words import split_words
from evalwright.types import Issue, TaskSpec

RULES = (
    "target_in_prompt",
    "duplicate_prompt",
    "near_duplicate",
    "skewed_letters",
    "duplicate_options",
    "target_not_an_option",
    "answer_in_examples",
    "embedded_examples",
    "uneven_length",
    "unreachable_target",
    "empty_target",
)
"""Order of findings on the same line."""


class Linter:
    """Applies all rules to a stream of records: call `look` for each record, then `end`."""

    def __init__(self, *, most_words: int = MOST_WORDS) -> None:
        self._places = Places()
        self._corpus = PromptCorpus(most_words)
        self._rules: tuple[Rule, ...] = (
            *RECORD_RULES,
            TargetInPrompt(self._corpus),
            DuplicatePrompt(self._places),
            NearDuplicate(self._places, self._corpus),
            SkewedLetters(),
            UnevenLength(),
        )
        self._findings: list[Finding] = []

    @property
    def notes(self) -> list[str]:
        """Notes about checks that were skipped, complete after the last record."""
        left_out = self._corpus.left_out
        why = f"the file has more than {self._corpus.most_words:,} words"
        note = f"{left_out:,} prompts were not checked for near duplicates: {why}"
        return [note] if left_out else []

    def look(self, line: int, task: TaskSpec) -> None:
        """Add a record."""
        number = self._places.add(line, task.task_id)
        words = split_words(task.prompt)
        prompt, seen = self._corpus.add(number, task, words)
        record = LintedRecord(number, task, words, prompt, seen)
        for rule in self._rules:
            self._findings.extend(rule.look(record))

    def end(self) -> Iterator[Issue]:
        """Yield all findings, in order."""
        for rule in self._rules:
            self._findings.extend(rule.end())
        order = {name: place for place, name in enumerate(RULES)}
        self._findings.sort(key=lambda item: (item.of_file, item.record, order[item.rule]))
        yield from map(self._places.issue, self._findings)


class Linting(Checking):
    """Iterate once. `valid` counts the linted records, `errors` and `rules` the findings.

    An invalid record is not linted, only counted in `skipped`; `validate` reports its errors. If a
    file cannot be read to its end, the part before is linted. With `raises`, the iteration then
    ends with `Unreadable`.
    """

    level = "warning"

    def __init__(self, file: str, *, raises: bool = False) -> None:
        super().__init__(file)
        self._raises = raises
        self.skipped = 0
        self.notes: list[str] = []
        """Notes about checks that were skipped, for very large files or files in a different
        format."""

    def __iter__(self) -> Iterator[Issue]:
        linter = Linter()
        try:
            for line, item in check_batches(read_batches(self.file), file=self.file):
                if isinstance(item, TaskSpec):
                    self.valid += 1
                    linter.look(line, item)
                else:
                    self.skipped += 1
                    if item.hint:  # the file has a different format
                        self.notes.append(f"{show_path(self.file)}:{line}: {item.message}")
        except Unreadable as error:
            self.unreadable = error
        self.notes += linter.notes
        for issue in linter.end():
            self.rules[issue.rule] = self.rules.get(issue.rule, 0) + 1
            yield issue
        if self.unreadable and self._raises:
            raise self.unreadable
