"""Every rule over a stream of records.

Findings come in the order of their lines, those about the whole file last; so they are held until
the last record is in. What else is kept: see `corpus` (bounded), and some 20 bytes a record.
"""

from collections.abc import Iterable, Iterator

from evalwright.spec.records.lint import (
    answer_in_examples,
    duplicate_options,
    empty_target,
    target_not_an_option,
    unreachable_target,
)
from evalwright.spec.records.lint.corpus import MOST_WORDS, Corpus
from evalwright.spec.records.lint.duplicate_prompt import DuplicatePrompt
from evalwright.spec.records.lint.findings import Alone, Finding, Places, Record, Rule
from evalwright.spec.records.lint.near_duplicate import NearDuplicate
from evalwright.spec.records.lint.skewed_letters import SkewedLetters
from evalwright.spec.records.lint.target_in_prompt import TargetInPrompt
from evalwright.spec.records.lint.uneven_length import UnevenLength
from evalwright.spec.records.lint.words import words
from evalwright.types import Issue, TaskSpec

RULES = (
    "target_in_prompt",
    "duplicate_prompt",
    "near_duplicate",
    "skewed_letters",
    "duplicate_options",
    "target_not_an_option",
    "answer_in_examples",
    "uneven_length",
    "unreachable_target",
    "empty_target",
)
"""Each has a module of its name; findings on one line come in this order."""


def lint_tasks(located: Iterable[tuple[int, TaskSpec]]) -> Iterator[Issue]:
    """Yield what is suspicious in records, each given with its line."""
    linter = Linter()
    for line, task in located:
        linter.look(line, task)
    yield from linter.end()


class Linter:
    """Show it every record, then ask it."""

    def __init__(self, *, most_words: int = MOST_WORDS) -> None:
        self._places = Places()
        self._corpus = Corpus(most_words)
        self._rules: tuple[Rule, ...] = (
            TargetInPrompt(self._corpus),
            DuplicatePrompt(self._places),
            NearDuplicate(self._places, self._corpus),
            SkewedLetters(),
            Alone(duplicate_options.NAME, "prompt", duplicate_options.judge),
            Alone(target_not_an_option.NAME, "targets", target_not_an_option.judge),
            Alone(answer_in_examples.NAME, "few_shot_examples", answer_in_examples.judge),
            UnevenLength(),
            Alone(unreachable_target.NAME, "targets", unreachable_target.judge),
            Alone(empty_target.NAME, "targets", empty_target.judge),
        )
        self._found: list[Finding] = []

    @property
    def notes(self) -> list[str]:
        """What was not looked at, in words; right when the last record is in."""
        left_out = self._corpus.left_out
        why = f"the file has more than {self._corpus.most_words:,} words"
        note = f"{left_out:,} prompts were not compared with the others for likeness: {why}"
        return [note] if left_out else []

    def look(self, line: int, task: TaskSpec) -> None:
        """Take one record in."""
        number = self._places.add(line, task.task_id)
        spoken = words(task.prompt)
        prompt, seen = self._corpus.add(number, task, spoken)
        record = Record(number, task, spoken, prompt, seen)
        for rule in self._rules:
            self._found.extend(rule.look(record))

    def end(self) -> Iterator[Issue]:
        """Yield all findings, in order."""
        for rule in self._rules:
            self._found.extend(rule.end())
        order = {name: place for place, name in enumerate(RULES)}
        self._found.sort(key=lambda one: (one.of_file, one.record, order[one.rule]))
        yield from map(self._places.issue, self._found)
