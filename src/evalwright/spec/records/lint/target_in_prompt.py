"""`target_in_prompt`: the answer stands in the question.

Why:    a model can copy what it should work out, and the score says nothing about the skill.
Wrong:  when answers are meant to be found in the text (extraction, "which of these"), or when the
        text happens to use the word. Not looked at: `mcq`, `code_exec` and targets of one letter.

A target stands in a prompt as whole words: `14` does not hold `4`. Not every such target is a leak.
Nothing is said when

- it is one of several choices: beside `or`, `/`, `|`, in a row of numbers, or for `classification`
  when the prompt names another label too (another record's target, or one of `metadata.labels`);
- it is a number to reckon with: beside `+`, `-`, `*` and the like;
- it is a common thing to say: it stands in more than one in 200 of the prompts that have another
  target, and not five times as often in those that have this one. Story problems are full of small
  numbers, and some of them are the answer.

A number that ends the prompt, or follows `answer:` or `2 + 2 =`, is a leak however common it is.
Where more than half of a category's records (20 at least) hold their answer, one finding says so.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from evalwright.spec.records.lint.corpus import LONGEST_PHRASE, Corpus, Phrase, phrase
from evalwright.spec.records.lint.findings import Finding, Record, normal, shown
from evalwright.spec.records.lint.whereabouts import whereabouts
from evalwright.spec.records.lint.words import words
from evalwright.types import TaskSpec

LOOKED_AT = ("arithmetic", "classification", "summary")
MOST_COMMON = 1 / 200
AS_OFTEN, FEWEST_OF_A_TARGET = 5, 10
FEWEST_BY_DESIGN = 20
_LONGEST_TARGET = 100
"""In characters; a longer one has more than three words, or is none to look for by words."""


class _Held(NamedTuple):
    """A record whose prompt holds a target of its own."""

    record: int
    prompt: int
    category: str
    target: str
    phrase: Phrase
    """The target by its words; empty where they are more than three: those are no accident."""
    own: frozenset[Phrase]
    """All targets of the record."""
    given_away: bool


class TargetInPrompt:
    """Keeps the short targets, and the records that hold one; asks the corpus at the end."""

    name = "target_in_prompt"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._held: list[_Held] = []
        self._records: Counter[str] = Counter()
        self._targets: Counter[tuple[str, Phrase]] = Counter()
        """How many records of a category have a target."""

    def look(self, record: Record) -> Iterable[Finding]:
        """Note whether the record holds its target; what that means depends on the others."""
        task = record.task
        if task.category in LOOKED_AT:
            own = frozenset(filter(None, map(_phrase, task.targets)))
            self._records[task.category] += 1
            self._targets.update((task.category, target) for target in own)
            if held := _held(record, own):
                self._held.append(held)
        return ()

    def end(self) -> Iterable[Finding]:
        """Name the records that hold their target for no good reason."""
        leaks: dict[str, list[_Held]] = {}
        for held in self._leaks():
            leaks.setdefault(held.category, []).append(held)
        for category, several in leaks.items():
            records = self._records[category]
            if len(several) >= FEWEST_BY_DESIGN and len(several) > records / 2:
                detail = (
                    f"{len(several):,} of {records:,} `{category}` records hold their target in "
                    "the prompt: fine if answers are to be copied out of it, else a leak"
                )
                yield Finding(several[0].record, self.name, "prompt", detail, of_file=True)
                continue
            for held in several:
                detail = (
                    f"the target {shown(held.target)} stands in the prompt: a model can copy the "
                    "answer; take it out, or name the other choices beside it"
                )
                yield Finding(held.record, self.name, "prompt", detail)

    def _leaks(self) -> Iterator[_Held]:
        if not self._held:
            return
        labels = {target for category, target in self._targets if category == "classification"}
        sought = sorted(labels.union(held.phrase for held in self._held if held.phrase))
        named, standing = self._standing(sought, labels)
        with_own = Counter((held.category, held.phrase) for held in self._held)
        for held in self._held:
            if not named.get(held.prompt, set()) - held.own and (
                held.given_away
                or not held.phrase
                or self._uncommon(held, standing[held.category, held.phrase], with_own)
            ):
                yield held

    def _standing(
        self, sought: list[Phrase], labels: set[Phrase]
    ) -> tuple[dict[int, set[Phrase]], Counter[tuple[str, Phrase]]]:
        """Return which labels stand in which prompt, and how many prompts each phrase stands in.

        The first for `classification` prompts that hold their own; in the second, prompts that list
        several labels do not count.
        """
        phrases, prompts = array("I"), array("I")
        labels_in = array("I", bytes(4 * len(self._corpus)))
        for index, prompt in self._corpus.holding(sought):
            phrases.append(index)
            prompts.append(prompt)
            labels_in[prompt] += sought[index] in labels
        held_by = {held.prompt for held in self._held if held.category == "classification"}
        named: dict[int, set[Phrase]] = {}
        standing: Counter[tuple[str, Phrase]] = Counter()
        for index, prompt in zip(phrases, prompts, strict=True):
            category, phrase = self._corpus.categories[prompt], sought[index]
            if category != "classification" or labels_in[prompt] == 1:
                standing[category, phrase] += 1
            if prompt in held_by and phrase in labels:
                named.setdefault(prompt, set()).add(phrase)
        return named, standing

    def _uncommon(self, held: _Held, prompts: int, with_own: Counter[tuple[str, Phrase]]) -> bool:
        """Whether a target that stands in so many prompts is rare in those of other targets."""
        key = (held.category, held.phrase)
        mine = self._targets[key]
        others = self._records[held.category] - mine
        chance = max(0, prompts - with_own[key]) / others if others else 0.0
        return chance <= MOST_COMMON or (
            mine >= FEWEST_OF_A_TARGET and with_own[key] / mine >= AS_OFTEN * chance
        )


def _held(record: Record, own: frozenset[Phrase]) -> _Held | None:
    """Return the first target that the prompt holds, unless it holds one as a choice."""
    task = record.task
    text = normal(task.prompt)
    found: _Held | None = None
    for target in task.targets:
        where = whereabouts(text, normal(target))
        if where.is_choice or (where.stands and _names_another_label(task, text)):
            return None
        if where.stands and not found:
            given_away = where.given_away and task.category == "arithmetic"
            found = _Held(
                record.number,
                record.prompt,
                task.category,
                target,
                _phrase(target),
                own,
                given_away,
            )
    return found


def _names_another_label(task: TaskSpec, text: str) -> bool:
    labels = task.metadata.get("labels")
    if not isinstance(labels, list):
        return False
    targets = set(map(normal, task.targets))
    others = (normal(label) for label in labels if isinstance(label, str))
    return any(label not in targets and whereabouts(text, label).stands for label in others)


@lru_cache(maxsize=4096)  # labels come back
def _phrase(target: str) -> Phrase:
    if len(target) > _LONGEST_TARGET:
        return ()
    found = phrase(words(target).all)
    return found if len(found) <= LONGEST_PHRASE else ()
