"""`target_in_prompt`: the question contains the answer.

Why:    a model can copy the answer, so the score does not measure the intended skill.
Wrong:  if answers are meant to be found in the text (extraction, "which of these"), or if the text
        contains the word by coincidence. `mcq`, `code_exec` and single-letter targets are not
        checked.

Only whole words count: `14` does not contain `4`. Not every target in a prompt is a leak. Nothing
is reported if

- it is one of several choices: next to `or`, `/`, `|`, in a list of numbers, or for
  `classification` if the prompt also contains a different label (another record's target, or one of
  `metadata.labels`);
- it is an operand: next to `+`, `-`, `*` or a similar sign;
- it is a common phrase: more than one in 200 prompts with a different target contain it, and it is
  not five times as frequent in prompts with this target. Word problems contain many small numbers,
  some of which equal the answer.

A number at the end of the prompt, or after `answer:` or `2 + 2 =`, is always a leak. If more than
half of a category's records (at least 20) contain their answer, there is one finding for all.

    "2 + 2 = 4?"              contains `4`, revealed
    "Is 4 more than 3?"       contains `4`
    "yes or no?"              contains `no` as a choice
    "17 + 4", "14", "4.5"     `4` does not count: it is an operand, or part of another number
"""

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from evalwright.spec.records.lint.corpus import LONGEST_PHRASE, Phrase, PromptCorpus, phrase
from evalwright.spec.records.lint.findings import Finding, LintedRecord, Rule, normalize, quote_text
from evalwright.spec.records.lint.words import split_words
from evalwright.types import TaskSpec

_CATEGORIES = ("arithmetic", "classification", "summary")
_MOST_COMMON = 1 / 200
_AS_OFTEN, _FEWEST_OF_A_TARGET = 5, 10
_FEWEST_BY_DESIGN = 20
_LONGEST_TARGET = 100
"""Maximum length in characters of targets that are searched as words."""
_NEARBY = 40
_MOST_PLACES = 1000
_QUOTES = r"[\"'\u2018-\u201d«»()\[\]*`]*"
_CHOICE_BEFORE = re.compile(rf"(?:\bor|/|\|)\s*{_QUOTES}$")
_CHOICE_AFTER = re.compile(rf"{_QUOTES},?\s*(?:or\b|/|\|)")
_ROW_BEFORE = re.compile(r"\d\s*(?:[,;、]|and\b|or\b)\s*(?:and\b|or\b)?\s*$")
_ROW_AFTER = re.compile(r"\s*(?:[,;、]|and\b|or\b)\s*(?:and\b|or\b)?\s*\d")
_GIVEN_AWAY_BEFORE = re.compile(
    rf"(?:\b(?:answer|solution)(?:\s+is)?\s*[:=]?|[\d)\]]\s*=)\s*{_QUOTES}$"
)
_END = re.compile(r"[\W_]*$")
_OPERAND_AFTER = re.compile(r"(?:[\w)\]]\s*[+*/×÷−^%·-]\s*|-)$")
_OPERAND_BEFORE = re.compile(r"\s*[+*/×÷−^%·-]\s*[\w(\[]")
_PART_AFTER = re.compile(r"\d[.,]$")
_PART_BEFORE = re.compile(r"[.,]\d")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


class _ContainedTarget(NamedTuple):
    """A record whose prompt contains one of its targets."""

    record: int
    prompt: int
    category: str
    target: str
    phrase: Phrase
    """Words of the target; empty if there are more than three, which is never a coincidence."""
    own: frozenset[Phrase]
    """All targets of the record."""
    given_away: bool


class TargetInPrompt(Rule):
    """Keeps short targets and the records that contain them; queries the corpus at the end."""

    name = "target_in_prompt"

    def __init__(self, corpus: PromptCorpus) -> None:
        self._corpus = corpus
        self._contained: list[_ContainedTarget] = []
        self._records: Counter[str] = Counter()
        self._targets: Counter[tuple[str, Phrase]] = Counter()
        """Number of records per category and target."""

    def look(self, record: LintedRecord) -> Iterable[Finding]:
        """Record whether the prompt contains the target. Other records decide if it is reported."""
        task = record.task
        if task.category in _CATEGORIES:
            own = frozenset(filter(None, map(_phrase, task.targets)))
            self._records[task.category] += 1
            self._targets.update((task.category, target) for target in own)
            if contained := _find_contained_target(record, own):
                self._contained.append(contained)
        return ()

    def end(self) -> Iterable[Finding]:
        """Report the records that contain their target without a good reason."""
        leaks: dict[str, list[_ContainedTarget]] = {}
        for contained in self._leaks():
            leaks.setdefault(contained.category, []).append(contained)
        for category, several in leaks.items():
            records = self._records[category]
            if len(several) >= _FEWEST_BY_DESIGN and len(several) > records / 2:
                detail = (
                    f"{len(several):,} of {records:,} `{category}` records contain their target "
                    "in the prompt: valid if answers are to be copied from it, otherwise a leak"
                )
                yield Finding(several[0].record, self.name, "prompt", detail, of_file=True)
                continue
            for contained in several:
                detail = (
                    f"the target {quote_text(contained.target)} is in the prompt: a model can copy "
                    "the answer; remove it, or list the other choices with it"
                )
                yield Finding(contained.record, self.name, "prompt", detail)

    def _leaks(self) -> Iterator[_ContainedTarget]:
        if not self._contained:
            return
        labels = {target for category, target in self._targets if category == "classification"}
        phrases = sorted(
            labels.union(contained.phrase for contained in self._contained if contained.phrase)
        )
        named, prompt_counts = self._count_prompts(phrases, labels)
        with_own = Counter((contained.category, contained.phrase) for contained in self._contained)
        for contained in self._contained:
            if not named.get(contained.prompt, set()) - contained.own and (
                contained.given_away
                or not contained.phrase
                or self._is_uncommon(
                    contained, prompt_counts[contained.category, contained.phrase], with_own
                )
            ):
                yield contained

    def _count_prompts(
        self, searched: list[Phrase], labels: set[Phrase]
    ) -> tuple[dict[int, set[Phrase]], Counter[tuple[str, Phrase]]]:
        """Return the labels that each prompt contains, and the number of prompts with each phrase.

        The former covers `classification` prompts that contain their own label. The latter excludes
        prompts that list several labels.
        """
        phrases, prompts = array("I"), array("I")
        label_counts = array("I", bytes(4 * len(self._corpus)))
        for index, prompt in self._corpus.find_phrases(searched):
            phrases.append(index)
            prompts.append(prompt)
            label_counts[prompt] += searched[index] in labels
        containing_prompts = {
            contained.prompt
            for contained in self._contained
            if contained.category == "classification"
        }
        labels_by_prompt: dict[int, set[Phrase]] = {}
        prompt_counts: Counter[tuple[str, Phrase]] = Counter()
        for index, prompt in zip(phrases, prompts, strict=True):
            category, phrase = self._corpus.categories[prompt], searched[index]
            if category != "classification" or label_counts[prompt] == 1:
                prompt_counts[category, phrase] += 1
            if prompt in containing_prompts and phrase in labels:
                labels_by_prompt.setdefault(prompt, set()).add(phrase)
        return labels_by_prompt, prompt_counts

    def _is_uncommon(
        self, contained: _ContainedTarget, prompts: int, with_own: Counter[tuple[str, Phrase]]
    ) -> bool:
        """Whether a target is rare in prompts with different targets."""
        key = (contained.category, contained.phrase)
        with_target = self._targets[key]
        without_target = self._records[contained.category] - with_target
        chance = max(0, prompts - with_own[key]) / without_target if without_target else 0.0
        return chance <= _MOST_COMMON or (
            with_target >= _FEWEST_OF_A_TARGET and with_own[key] / with_target >= _AS_OFTEN * chance
        )


def _find_contained_target(record: LintedRecord, own: frozenset[Phrase]) -> _ContainedTarget | None:
    """Return the first target that the prompt contains, unless it contains one as a choice."""
    task = record.task
    text = normalize(task.prompt)
    contained: _ContainedTarget | None = None
    for target in task.targets:
        where = locate_target(text, normalize(target))
        if where.is_choice or (where.stands and _names_another_label(task, text)):
            return None
        if where.stands and not contained:
            given_away = where.given_away and task.category == "arithmetic"
            ids = record.number, record.prompt, task.category
            contained = _ContainedTarget(*ids, target, _phrase(target), own, given_away)
    return contained


def _names_another_label(task: TaskSpec, text: str) -> bool:
    labels = task.metadata.get("labels")
    if not isinstance(labels, list):
        return False
    targets = set(map(normalize, task.targets))
    without_target = (normalize(label) for label in labels if isinstance(label, str))
    return any(
        label not in targets and locate_target(text, label).stands for label in without_target
    )


@lru_cache(maxsize=4096)  # labels are repeated
def _phrase(target: str) -> Phrase:
    if len(target) > _LONGEST_TARGET:
        return ()
    numbers = phrase(split_words(target).all)
    return numbers if len(numbers) <= LONGEST_PHRASE else ()


class TargetLocation(NamedTuple):
    """The role of a target in a prompt."""

    stands: bool = False
    is_choice: bool = False
    given_away: bool = False


def locate_target(text: str, target: str) -> TargetLocation:
    """Check all occurrences of a target; one choice, or one leak, is sufficient."""
    stands = given_away = False
    for start in _places(text, target):
        before = text[max(0, start - _NEARBY) : start]
        after = text[start + len(target) : start + len(target) + _NEARBY]
        if _is_choice(before, after, target):
            return TargetLocation(stands=True, is_choice=True)
        stands = True
        ends = len(after) < _NEARBY and _END.match(after)
        given_away = given_away or bool(ends or _GIVEN_AWAY_BEFORE.search(before))
    return TargetLocation(stands, given_away=given_away)


def _places(text: str, target: str) -> Iterator[int]:
    """Yield the positions of the target as whole words, except for single letters."""
    if not any(map(str.isalnum, target)) or (len(target) == 1 and not target.isdigit()):
        return
    start = text.find(target)
    for _ in range(_MOST_PLACES):
        if start < 0:
            return
        if _is_whole(text, start, start + len(target)):
            yield start
        start = text.find(target, start + 1)


def _is_whole(text: str, start: int, end: int) -> bool:
    if _joins(text[start - 1 : start], text[start]) or _joins(text[end : end + 1], text[end - 1]):
        return False
    if not (text[start].isdigit() and text[end - 1].isdigit()):
        return True
    before, after = text[max(0, start - _NEARBY) : start], text[end : end + _NEARBY]
    return not (
        _PART_AFTER.search(before)
        or _PART_BEFORE.match(after)
        or _OPERAND_AFTER.search(before)
        or _OPERAND_BEFORE.match(after)
    )


def _joins(neighbour: str, edge: str) -> bool:
    """Whether a character next to the target belongs to the same word."""
    if not neighbour or _UNSPACED.match(edge) or _UNSPACED.match(neighbour):
        return False
    return neighbour.isalnum() or neighbour == "_" or unicodedata.category(neighbour)[0] == "M"


def _is_choice(before: str, after: str, target: str) -> bool:
    if _CHOICE_BEFORE.search(before) or _CHOICE_AFTER.match(after):
        return True
    is_number = target[0].isdigit() and target[-1].isdigit()
    return is_number and bool(_ROW_BEFORE.search(before) or _ROW_AFTER.match(after))
