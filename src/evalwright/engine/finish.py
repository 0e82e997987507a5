"""What is left of a task when its last sample is in.

    scorers of all samples     once, over every sample that could be solved       `late`
    trials                     those of a sample become one score of it           `trials`
    action rules               each sample once; what they mark is in no metric   `ruled`
    metrics                    each scorer's scores to its figures                `measured`
    repeats                    how far several runs of the same task agree        `repeats`

Outcomes stream by, once for the scorers that want all of them and once for the rest, so memory
grows by a few bytes a sample and scorer, unless a scorer or a metric asks for everything. An
outcome that is changed is written again in the place of the old one, so a second time changes
nothing: what the store has is what was judged.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from msgspec import structs

from evalwright.engine.finishing import (
    Aggregate,
    Broken,
    Figure,
    Finished,
    Finishing,
    Landed,
    Measured,
    Metric,
    Rule,
    RunScorer,
    Trials,
    unsolved,
)
from evalwright.engine.late import Late, score_all, streamed, with_late
from evalwright.engine.measured import Book, books_of, collect, measure, names_of
from evalwright.engine.repeats import Agreements, averaged
from evalwright.engine.ruled import marked, over_trials, ruled
from evalwright.engine.tally import merge, told_apart
from evalwright.engine.trials import Breakages, together
from evalwright.ports import Snippets
from evalwright.types import Action, Failure, Outcome, Part, Score

__all__ = [
    "Aggregate",
    "Broken",
    "Figure",
    "Finished",
    "Finishing",
    "Landed",
    "Measured",
    "Metric",
    "Rule",
    "RunScorer",
    "Trials",
    "finish",
    "names_of",
]

_WRITTEN_AT_ONCE = 500
_MOST_NOTES = 20


async def finish(
    task: Finishing, landed: Landed, snippets: Snippets | None, *, seed: int = 0
) -> Finished:
    """Judge what only all samples together can show."""
    finished = Finished(excluded={rule.key: 0 for rule in task.rules})
    late = await score_all(task, landed, snippets, finished) if landed.complete else {}
    end = _End(task, finished)
    changed: list[Outcome] = []
    async for stored in _samples(landed):
        made = end.sample(stored, late)
        changed += [one for one, before in zip(made, stored, strict=True) if one != before]
        if len(changed) >= _WRITTEN_AT_ONCE:
            landed.write(changed)
            changed = []
    if changed:
        landed.write(changed)
    unasked = frozenset() if landed.complete else frozenset(task.run_scorers)
    await measure(task, end.books, finished, snippets, seed=seed, unasked=unasked)
    finished.broken += end.breakages.told(task.trials.aggregates if task.trials else ())
    finished.agreements = list(end.agreements.found(seed=seed))
    finished.flaky, finished.all_flaky = end.agreements.worst(), end.agreements.flaky
    return finished


async def _samples(landed: Landed) -> AsyncIterator[list[Outcome]]:
    """The outcomes of each sample: one, or as many as it was tried."""
    group: list[Outcome] = []
    async for outcome in streamed(landed):
        if group and outcome.ordinal != group[0].ordinal:
            yield group
            group = []
        group.append(outcome)
    if group:
        yield group


class _End:
    """Takes in one sample after the other."""

    def __init__(self, task: Finishing, finished: Finished) -> None:
        self.task, self.finished = task, finished
        self.books: dict[str, Book] = books_of(task)
        self.breakages, self.agreements = Breakages(), Agreements()
        self.again: defaultdict[str, set[str]] = defaultdict(set)
        """Of each scorer, the names of scores that have another name, too."""

    def sample(self, stored: Sequence[Outcome], late: Mapping[str, Late]) -> list[Outcome]:
        """All that is made of one sample; its outcomes, as they should be stored."""
        outcomes = [with_late(one, self.task, late) for one in stored]
        for one in outcomes:
            unanswered, others = told_apart(one)
            merge(self.finished.unanswered, unanswered)
            merge(self.finished.others, others)
            _note(one, self.finished.notes)
        if self.task.trials is None:
            return [self._once(one) for one in outcomes]
        return self._often(outcomes, self.task.trials)

    def _once(self, outcome: Outcome) -> Outcome:
        """A sample that is tried once."""
        task, finished = self.task, self.finished
        outcome, undecided = marked(outcome, task, finished)
        finished.scored += len(task.units(outcome))
        finished.fanned = finished.fanned or len(outcome.parts) > 1
        if not undecided:
            collect(task.units(outcome), self.books)
        return outcome

    def _often(self, outcomes: list[Outcome], trials: Trials) -> list[Outcome]:
        """A sample that is tried several times; as long as a try is missing, it does not count."""
        if len(outcomes) != trials.total:
            return outcomes
        self.finished.scored += 1
        size = trials.trials
        runs = [outcomes[at : at + size] for at in range(0, trials.total, size)]
        scores = [self._together(run, trials) for run in runs]
        found: dict[str, Action] = {}
        made: list[Outcome] = []
        stuck: list[Failure] = []
        for run, said in zip(runs, scores, strict=True):
            kept, actions, broken = self._ruled(run, said)
            made += kept
            stuck += broken
            found.update({one.rule_key: one for one in actions})
        undecided = bool(stuck) or any(map(_stopped, made))
        if stuck and all(one.failure is None for one in made):  # else it has failed already
            made[0] = structs.replace(made[0], failure=stuck[0])
        for key in found:
            self.finished.excluded[key] += 1
        self.finished.left_out += bool(found)
        if not found and not undecided:
            self._collect(outcomes[0], scores, trials)
        return made

    def _together(self, run: Sequence[Outcome], trials: Trials) -> dict[str, Score]:
        """Of each scorer that has judged every trial of a run, one score."""
        scores: dict[str, Score] = {}
        for name in dict.fromkeys(name for one in run for name in one.scores):
            each = [one.scores[name] for one in run if name in one.scores]
            if len(each) < len(run):
                continue
            made = together([one.values for one in each], trials.aggregates)
            metadata = each[0].metadata if len(each) == 1 else {}
            scores[name] = Score(values=made.values, metadata=metadata)
            self.again[name].update(made.again)
            self.breakages.add(name, made, run[0].sample_id)
            if name in self.books:
                self.books[name].lacking.update(made.lacking)
        return scores

    def _ruled(
        self, run: Sequence[Outcome], scores: Mapping[str, Score]
    ) -> tuple[list[Outcome], tuple[Action, ...], list[Failure]]:
        """The trials of a run with the rules that apply to it, and what one could not say."""
        if not self.task.rules or any(map(unsolved, run)):
            return list(run), (), []
        first, values = run[0], {name: score.values for name, score in scores.items()}
        actions, broken = ruled(first.sample, first.trace, values, self.task.rules)
        kept = [
            structs.replace(one, actions=actions, failure=None if _stopped(one) else one.failure)
            for one in run
        ]
        return kept, actions, [over_trials(broken, run, values)] if broken else []

    def _collect(self, first: Outcome, runs: Sequence[Mapping[str, Score]], trials: Trials) -> None:
        """The scores of a sample, for the scorers that have judged it in every run."""
        values: dict[str, list[dict[str, Any]]] = {}
        for name in runs[0]:
            scores = [run[name] for run in runs if name in run]
            if len(scores) < len(runs):
                continue
            values[name] = [one.values for one in scores]
            if (book := self.books.get(name)) is None:
                continue
            for one, column in zip(scores, book.runs, strict=True):
                column.add(one.values, one.metadata)
            if book.averaged is not None:
                book.averaged.add(averaged(values[name]), {})
        if trials.repeats > 1:
            compared = {
                name: [_without(one, self.again[name]) for one in each]
                for name, each in values.items()
            }
            self.agreements.add(first.ordinal, first.sample_id, compared)


def _without(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Each value once, under one of its names."""
    return {name: value for name, value in values.items() if name not in names}


def _stopped(outcome: Outcome) -> bool:
    """Whether a rule could not say what becomes of it."""
    return outcome.failure is not None and outcome.failure.stage == "action"


def _note(outcome: Outcome, notes: dict[str, int]) -> None:
    """A judge that could not be asked as it should be says so in its scores."""
    units: tuple[Outcome | Part, ...] = (outcome, *outcome.parts)
    for unit in units:
        for score in unit.scores.values():
            note = score.metadata.get("note") if "structured" in score.metadata else None
            if isinstance(note, str) and (note in notes or len(notes) < _MOST_NOTES):
                notes[note] = notes.get(note, 0) + 1
