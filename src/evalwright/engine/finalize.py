"""Finalize a task when its last sample is in.

    scorers of all samples     once, over every sample that could be solved       `all_samples`
    trials                     those of a sample become one score of it           `trials`
    action rules               each sample once; what they mark is in no metric   here
    metrics                    each scorer's scores to its values                 `metric_values`
    repeats                    how far several runs of the same task agree        `trials`

Outcomes stream by, once for the scorers that want all of them and once for the rest, so memory
grows by a few bytes per sample and scorer, unless a scorer or a metric asks for everything. An
outcome that is changed is written again in the place of the old one, so finalizing again changes
nothing: what the store has is what was judged.

A sample of several trials is judged by action rules on its scores over all of them, and on its
first answer.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from msgspec import structs

from evalwright.engine.all_samples import AllSamplesScores, add_scores, score_all, stream_outcomes
from evalwright.engine.metric_values import (
    ScoreTable,
    build_score_tables,
    collect_scores,
    measure_scorers,
)
from evalwright.engine.results import (
    FinalResult,
    MetricValue,
    TaskOutcomes,
    describe_failure,
    is_unsolved,
)
from evalwright.engine.trials import Agreements, TrialFailures, average_runs, combine_trials
from evalwright.engine.usage import add_usage, split_usage
from evalwright.errors import StageError, boundary
from evalwright.plan.finalization import Finalization, TaskRule, TrialPlan
from evalwright.ports import Snippets
from evalwright.types import Action, Failure, Outcome, Part, Score, Trace, without_self_report

_WRITE_BATCH = 500
_MOST_NOTES = 20
_DEPENDENT_ROWS = "no interval: the rows are of several models or trials on the same samples"


async def finalize_task(
    task: Finalization, landed: TaskOutcomes, snippets: Snippets | None, *, seed: int = 0
) -> FinalResult:
    """Judge what only all samples together can show."""
    finished = FinalResult(excluded={rule.key: 0 for rule in task.rules})
    late = await score_all(task, landed, snippets, finished) if landed.complete else {}
    end = _Finalizer(task, finished)
    changed: list[Outcome] = []
    async for stored in _group_samples(landed):
        made = end.sample(stored, late)
        changed += [one for one, before in zip(made, stored, strict=True) if one != before]
        if len(changed) >= _WRITE_BATCH:
            landed.write(changed)
            changed = []
    if changed:
        landed.write(changed)
    unasked = frozenset() if landed.complete else frozenset(task.run_scorers)
    await measure_scorers(task, end.books, finished, snippets, seed=seed, unasked=unasked)
    finished.broken += end.breakages.told(task.trials.aggregates if task.trials else ())
    finished.agreements = list(end.agreements.found(seed=seed))
    finished.flaky, finished.all_flaky = end.agreements.worst(), end.agreements.flaky
    if task.has_dependent_rows:
        _drop_intervals(finished)
    return finished


def _drop_intervals(finished: FinalResult) -> None:
    """Remove the intervals of numbers over rows that are not independent."""
    finished.figures = [_without_interval(value) for value in finished.figures]
    finished.agreements = [structs.replace(one, interval=None) for one in finished.agreements]


def _without_interval(value: MetricValue) -> MetricValue:
    reason = value.measure.reason or _DEPENDENT_ROWS
    return structs.replace(
        value, measure=structs.replace(value.measure, interval=None, reason=reason)
    )


async def _group_samples(landed: TaskOutcomes) -> AsyncIterator[list[Outcome]]:
    """The outcomes of each sample: one, or as many as it was tried."""
    group: list[Outcome] = []
    async for outcome in stream_outcomes(landed):
        if group and outcome.ordinal != group[0].ordinal:
            yield group
            group = []
        group.append(outcome)
    if group:
        yield group


class _Finalizer:
    """Takes in one sample after the other."""

    def __init__(self, task: Finalization, finished: FinalResult) -> None:
        self.task, self.finished = task, finished
        self.books: dict[str, ScoreTable] = build_score_tables(task)
        self.breakages, self.agreements = TrialFailures(), Agreements()
        self.again: defaultdict[str, set[str]] = defaultdict(set)
        """Of each scorer, the names of scores that have another name, too."""

    def sample(
        self, stored: Sequence[Outcome], late: Mapping[str, AllSamplesScores]
    ) -> list[Outcome]:
        """All that is made of one sample; its outcomes, as they should be stored."""
        outcomes = [add_scores(one, self.task, late) for one in stored]
        for one in outcomes:
            unanswered, others = split_usage(one)
            add_usage(self.finished.unanswered, unanswered)
            add_usage(self.finished.others, others)
            _collect_notes(one, self.finished.notes)
        if self.task.trials is None:
            return [self._once(one) for one in outcomes]
        return self._often(outcomes, self.task.trials)

    def _once(self, outcome: Outcome) -> Outcome:
        """A sample that is tried once."""
        task, finished = self.task, self.finished
        outcome, undecided = _mark_outcome(outcome, task, finished)
        finished.scored += len(task.units(outcome))
        finished.fanned = finished.fanned or len(outcome.parts) > 1
        if not undecided:
            collect_scores(task.units(outcome), self.books)
        return outcome

    def _often(self, outcomes: list[Outcome], trials: TrialPlan) -> list[Outcome]:
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
        undecided = bool(stuck) or any(map(_is_undecided, made))
        if stuck and all(one.failure is None for one in made):  # else it has failed already
            made[0] = structs.replace(made[0], failure=stuck[0])
        for key in found:
            self.finished.excluded[key] += 1
        self.finished.left_out += bool(found)
        if not found and not undecided:
            self._collect(outcomes[0], scores, trials)
        return made

    def _together(self, run: Sequence[Outcome], trials: TrialPlan) -> dict[str, Score]:
        """Of each scorer that has judged every trial of a run, one score."""
        scores: dict[str, Score] = {}
        for name in dict.fromkeys(name for one in run for name in without_self_report(one.scores)):
            each = [one.scores[name] for one in run if name in one.scores]
            if len(each) < len(run):
                continue
            made = combine_trials([one.values for one in each], trials.aggregates)
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
        if not self.task.rules or any(map(is_unsolved, run)):
            return list(run), (), []
        first, values = run[0], {name: score.values for name, score in scores.items()}
        actions, broken = _apply_rules(first.sample, first.trace, values, self.task.rules)
        kept = [
            structs.replace(
                one, actions=actions, failure=None if _is_undecided(one) else one.failure
            )
            for one in run
        ]
        return kept, actions, [_explain_trials(broken, run, values)] if broken else []

    def _collect(
        self, first: Outcome, runs: Sequence[Mapping[str, Score]], trials: TrialPlan
    ) -> None:
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
                book.averaged.add(average_runs(values[name]), {})
        if trials.repeats > 1:
            compared = {
                name: [_without_names(one, self.again[name]) for one in each]
                for name, each in values.items()
            }
            self.agreements.add(first.ordinal, first.sample_id, compared)


def _without_names(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Each value once, under one of its names."""
    return {name: value for name, value in values.items() if name not in names}


def _is_undecided(outcome: Outcome) -> bool:
    """Whether a rule could not say what becomes of it."""
    return outcome.failure is not None and outcome.failure.stage == "action"


def _collect_notes(outcome: Outcome, notes: dict[str, int]) -> None:
    """A judge that could not be asked as it should be says so in its scores."""
    units: tuple[Outcome | Part, ...] = (outcome, *outcome.parts)
    for unit in units:
        for score in unit.scores.values():
            note = score.metadata.get("note") if "structured" in score.metadata else None
            if isinstance(note, str) and (note in notes or len(notes) < _MOST_NOTES):
                notes[note] = notes.get(note, 0) + 1


_MOST_EXPLAINED = 3


def _mark_outcome(
    outcome: Outcome, task: Finalization, finished: FinalResult
) -> tuple[Outcome, bool]:
    """The outcome with the rules that apply to it or its parts, and whether one could not say."""
    stopped = outcome.failure is not None and outcome.failure.stage == "action"
    if not task.rules or is_unsolved(outcome):
        return outcome, stopped
    failure = None if stopped else outcome.failure
    undecided = False
    found: list[tuple[Action, ...]] = []
    for one in task.units(outcome):
        judged = without_self_report(one.scores)
        scores = {name: score.values for name, score in judged.items()}
        actions, broken = _apply_rules(one.sample, one.trace, scores, task.rules)
        failure = failure or broken
        undecided = undecided or broken is not None
        found.append(actions)
        finished.left_out += bool(actions)
        for action in actions:
            finished.excluded[action.rule_key] += 1
    if not outcome.parts:
        actions = found[0] if found else ()
        return structs.replace(outcome, actions=actions, failure=failure), undecided
    made = zip(outcome.parts, found, strict=True)
    parts = tuple(structs.replace(part, actions=actions) for part, actions in made)
    return structs.replace(outcome, parts=parts, failure=failure), undecided


def _apply_rules(
    sample: dict[str, Any],
    trace: Trace | None,
    scores: Mapping[str, Mapping[str, Any]],
    rules: Sequence[TaskRule],
) -> tuple[tuple[Action, ...], Failure | None]:
    """The rules that apply, and the first that could not say."""
    conversation = trace.conversation if trace else None
    actions: list[Action] = []
    failure: Failure | None = None
    for rule in rules:
        try:
            with boundary("action"):
                if rule.applies(sample, conversation, scores):
                    actions.append(Action(action=rule.action, rule_key=rule.key))
        except StageError as error:
            failure = failure or describe_failure(error, rule.key)
    return tuple(actions), failure


def _explain_trials(
    failure: Failure, run: Sequence[Outcome], together: Mapping[str, Mapping[str, Any]]
) -> Failure:
    """The failure of a rule, with what trials have made of the scores that it may have read."""
    if len(run) == 1:
        return failure
    told: list[str] = []
    for scorer, score in run[0].scores.items():
        for name, value in score.values.items():
            now = together.get(scorer, {}).get(name)
            if isinstance(value, bool) and now is not None:
                told.append(f"`{scorer}.{name}` is the mean ({now:.3g})")
            elif isinstance(value, str):
                told.append(f"there is nothing of `{scorer}.{name}`, a text")
    if not told:
        return failure
    message = f"{failure.message}; over {len(run)} trials {', '.join(told[:_MOST_EXPLAINED])}"
    hint = failure.hint or "compare the mean, such as `greater_than` 0.5"
    return structs.replace(failure, message=message, hint=hint)
