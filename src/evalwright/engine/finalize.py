"""Finalize a task after its last sample.

    scorers of all samples     once, over every solved sample                     here
    trials                     combined into one score per sample                 `trials`
    action rules               per sample; excluded samples are in no metric      here
    metrics                    computed from each scorer's scores                 `metric_values`
    repeats                    agreement of several runs of the same task         `trials`

Outcomes are streamed, once for the scorers of all samples and once for the rest, so memory
grows by a few bytes per sample and scorer, unless a scorer or a metric needs everything. An
outcome that changes replaces the stored one, so finalizing again changes
nothing. Scores of scorers of all samples are stored under a key of what they depend on, so
finalizing again calls nothing.

A sample of several trials is judged by action rules on its scores over all of them, and on its
first answer.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from evalwright.engine.metric_values import (
    Measuring,
    ScoreTable,
    build_score_tables,
    collect_scores,
    measure_scorers,
)
from evalwright.engine.results import (
    FinalResult,
    MetricValue,
    TaskFailure,
    TaskOutcomes,
    describe_failure,
    lacks_answer,
)
from evalwright.engine.sample_labels import SampleLabels
from evalwright.engine.trials import Agreements, TrialFailures, average_runs, combine_trials
from evalwright.engine.usage import add_usage, split_usage
from evalwright.errors import StageError, boundary
from evalwright.plan.finalization import AllSamplesScorer, Finalization, TaskRule, TrialPlan
from evalwright.plan.keys import key_of
from evalwright.ports import Snippets
from evalwright.types import Action, Failure, Outcome, Part, Score, Trace, without_self_report

_WRITE_BATCH = 500
_YIELD_EVERY = 500
UnitIndex = tuple[int, int, int]
"""The ordinal of a sample, its trial, and the unit in it."""
_MOST_NOTES = 20
_DEPENDENT_PARTS = "no interval: the parts of one sample are not independent"
_DEPENDENT_ROWS = "no interval: the rows come from several models or trials on the same samples"


class _AllSamplesScores(Struct, frozen=True):
    """The scores of one scorer of all samples."""

    key: str
    scores: dict[UnitIndex, Score]


async def finalize_task(
    task: Finalization, landed: TaskOutcomes, snippets: Snippets | None, *, seed: int = 0
) -> FinalResult:
    """Compute what needs all samples."""
    finished = FinalResult(excluded={rule.key: 0 for rule in task.rules})
    late = await _score_all(task, landed, snippets, finished) if landed.complete else {}
    finalizer = _Finalizer(task, finished)
    changed: list[Outcome] = []
    async for stored in _group_samples(landed):
        updated = finalizer.sample(stored, late)
        changed += [after for after, before in zip(updated, stored, strict=True) if after != before]
        if len(changed) >= _WRITE_BATCH:
            landed.write(changed)
            changed = []
    if changed:
        landed.write(changed)
    unasked = frozenset() if landed.complete else frozenset(task.run_scorers)
    measuring = Measuring(snippets=snippets, seed=seed, unasked=unasked, labels=finalizer.labels)
    await measure_scorers(task, finalizer.books, finished, measuring)
    if finished.fanned:
        _drop_intervals(finished, _DEPENDENT_PARTS)
    finished.broken += finalizer.breakages.describe(task.trials.aggregates if task.trials else ())
    finished.agreements = list(finalizer.agreements.compute(seed=seed))
    finished.flaky, finished.all_flaky = finalizer.agreements.worst(), finalizer.agreements.flaky
    if task.has_dependent_rows:
        _drop_intervals(finished, _DEPENDENT_ROWS)
        finished.agreements = [
            structs.replace(agreement, interval=None) for agreement in finished.agreements
        ]
    return finished


def _drop_intervals(finished: FinalResult, why: str) -> None:
    finished.figures = [_without_interval(value, why) for value in finished.figures]


def _without_interval(value: MetricValue, why: str) -> MetricValue:
    reason = value.measure.reason or why
    return structs.replace(
        value, measure=structs.replace(value.measure, interval=None, reason=reason)
    )


async def _group_samples(landed: TaskOutcomes) -> AsyncIterator[list[Outcome]]:
    group: list[Outcome] = []
    async for outcome in _stream_outcomes(landed):
        if group and outcome.ordinal != group[0].ordinal:
            yield group
            group = []
        group.append(outcome)
    if group:
        yield group


class _Finalizer:
    """Takes one sample after another."""

    def __init__(self, task: Finalization, finished: FinalResult) -> None:
        self.task, self.finished = task, finished
        self.books: dict[str, ScoreTable] = build_score_tables(task)
        self.labels = SampleLabels(task)
        self.breakages, self.agreements = TrialFailures(), Agreements()
        self.again: defaultdict[str, set[str]] = defaultdict(set)
        """Per scorer, the scores that have a second name."""

    def sample(
        self, stored: Sequence[Outcome], late: Mapping[str, _AllSamplesScores]
    ) -> list[Outcome]:
        """Process one sample; return its outcomes as they should be stored."""
        outcomes = [_add_scores(outcome, self.task, late) for outcome in stored]
        for outcome in outcomes:
            unanswered, others = split_usage(outcome)
            add_usage(self.finished.unanswered, unanswered)
            add_usage(self.finished.others, others)
            _collect_notes(outcome, self.finished.notes)
        if self.task.trials is None:
            return [self._finalize_single(outcome) for outcome in outcomes]
        return self._finalize_trials(outcomes, self.task.trials)

    def _finalize_single(self, outcome: Outcome) -> Outcome:
        task, finished = self.task, self.finished
        outcome, undecided = _mark_outcome(outcome, task, finished)
        finished.scored += len(task.units(outcome))
        finished.fanned = finished.fanned or len(outcome.parts) > 1
        for unit in task.units(outcome):
            labels = self.labels.read(unit.sample, outcome.model, is_excluded=bool(unit.actions))
            if not undecided:
                collect_scores(unit, labels, self.books)
        return outcome

    def _finalize_trials(self, outcomes: list[Outcome], trials: TrialPlan) -> list[Outcome]:
        """Process a sample with several trials; it does not count while a trial is missing."""
        if len(outcomes) != trials.total:
            return outcomes
        self.finished.scored += 1
        size = trials.trials
        runs = [outcomes[at : at + size] for at in range(0, trials.total, size)]
        scores = [self._combine_run(run, trials) for run in runs]
        actions_by_rule: dict[str, Action] = {}
        updated: list[Outcome] = []
        failures: list[Failure] = []
        for run, score in zip(runs, scores, strict=True):
            marked, actions, broken = self._apply_rules_to_run(run, score)
            updated += marked
            failures += broken
            actions_by_rule.update({outcome.rule_key: outcome for outcome in actions})
        undecided = bool(failures) or any(map(_awaits_rule, updated))
        if failures and all(
            outcome.failure is None for outcome in updated
        ):  # else it has failed already
            updated[0] = structs.replace(updated[0], failure=failures[0])
        for key in actions_by_rule:
            self.finished.excluded[key] += 1
        self.finished.left_out += bool(actions_by_rule)
        first = outcomes[0]
        labels = self.labels.read(first.sample, first.model, is_excluded=bool(actions_by_rule))
        if not actions_by_rule and not undecided:
            self._collect(outcomes[0], scores, trials, labels)
        return updated

    def _combine_run(self, run: Sequence[Outcome], trials: TrialPlan) -> dict[str, Score]:
        scores: dict[str, Score] = {}
        for name in dict.fromkeys(
            name for outcome in run for name in without_self_report(outcome.scores)
        ):
            each = [outcome.scores[name] for outcome in run if name in outcome.scores]
            if len(each) < len(run):
                continue
            combined = combine_trials([outcome.values for outcome in each], trials.aggregates)
            metadata = each[0].metadata if len(each) == 1 else {}
            scores[name] = Score(values=combined.values, metadata=metadata)
            self.again[name].update(combined.again)
            self.breakages.add(name, combined, run[0].sample_id)
            if name in self.books:
                self.books[name].lacking.update(combined.lacking)
                self.books[name].aliases.update(combined.again)
        return scores

    def _apply_rules_to_run(
        self, run: Sequence[Outcome], scores: Mapping[str, Score]
    ) -> tuple[list[Outcome], tuple[Action, ...], list[Failure]]:
        """Return the trials of a run with the rules that apply, and the failure of a rule."""
        if not self.task.rules or any(map(lacks_answer, run)):
            return list(run), (), []
        first, values = run[0], {name: score.values for name, score in scores.items()}
        actions, broken = _apply_rules(first.sample, first.trace, values, self.task.rules)
        marked = [
            structs.replace(
                outcome, actions=actions, failure=None if _awaits_rule(outcome) else outcome.failure
            )
            for outcome in run
        ]
        return marked, actions, [_explain_trials(broken, run, values)] if broken else []

    def _collect(
        self,
        first: Outcome,
        runs: Sequence[Mapping[str, Score]],
        trials: TrialPlan,
        labels: Mapping[str, str | None],
    ) -> None:
        values: dict[str, list[Mapping[str, Any]]] = {}
        for name in runs[0]:
            scores = [run[name] for run in runs if name in run]
            if len(scores) < len(runs):
                continue
            values[name] = [score.values for score in scores]
            if (book := self.books.get(name)) is None:
                continue
            for score, column in zip(scores, book.runs, strict=True):
                column.add(score.values, score.metadata, labels)
            if book.averaged is not None:
                book.averaged.add(average_runs(values[name]), {}, labels)
        if trials.repeats > 1:
            compared = {
                name: [_without_names(score, self.again[name]) for score in each]
                for name, each in values.items()
            }
            self.agreements.add(first.ordinal, first.sample_id, compared)


def _without_names(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _awaits_rule(outcome: Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.stage == "action"


def _collect_notes(outcome: Outcome, notes: dict[str, int]) -> None:
    """Count the notes of judges that could not be queried as specified."""
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
    """Return the outcome with the rules that apply to it or its parts, and a rule's failure."""
    was_undecided = outcome.failure is not None and outcome.failure.stage == "action"
    if not task.rules or lacks_answer(outcome):
        return outcome, was_undecided
    failure = None if was_undecided else outcome.failure
    undecided = False
    applied: list[tuple[Action, ...]] = []
    for unit in task.units(outcome):
        judged = without_self_report(unit.scores)
        scores = {name: score.values for name, score in judged.items()}
        actions, broken = _apply_rules(unit.sample, unit.trace, scores, task.rules)
        failure = failure or broken
        undecided = undecided or broken is not None
        applied.append(actions)
        finished.left_out += bool(actions)
        for action in actions:
            finished.excluded[action.rule_key] += 1
    if not outcome.parts:
        actions = applied[0] if applied else ()
        return structs.replace(outcome, actions=actions, failure=failure), undecided
    pairs = zip(outcome.parts, applied, strict=True)
    parts = tuple(structs.replace(part, actions=actions) for part, actions in pairs)
    return structs.replace(outcome, parts=parts, failure=failure), undecided


def _apply_rules(
    sample: dict[str, Any],
    trace: Trace | None,
    scores: Mapping[str, Mapping[str, Any]],
    rules: Sequence[TaskRule],
) -> tuple[tuple[Action, ...], Failure | None]:
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
    """Explain the failure of a rule by what the trials turned its scores into."""
    if len(run) == 1:
        return failure
    notes: list[str] = []
    for scorer, score in run[0].scores.items():
        for name, value in score.values.items():
            now = together.get(scorer, {}).get(name)
            if isinstance(value, bool) and now is not None:
                notes.append(f"`{scorer}.{name}` is the mean ({now:.3g})")
            elif isinstance(value, str):
                notes.append(f"`{scorer}.{name}` is text and has no value")
    if not notes:
        return failure
    message = f"{failure.message}; over {len(run)} trials {', '.join(notes[:_MOST_EXPLAINED])}"
    hint = failure.hint or "compare the mean, for example with `greater_than` 0.5"
    return structs.replace(failure, message=message, hint=hint)


async def _score_all(
    task: Finalization, landed: TaskOutcomes, snippets: Snippets | None, finished: FinalResult
) -> dict[str, _AllSamplesScores]:
    """Call each scorer once per trial, unless every outcome of the trial already has its score."""
    late: dict[str, _AllSamplesScores] = {}
    for name, scorer in task.run_scorers.items():
        key = key_of("all", name, str(scorer.version), scorer.settings)
        for trial in sorted(await _trials_without_score(landed, name, key)):
            try:
                with boundary("score"):
                    scores = await _score_trial(scorer, task, landed, snippets, trial=trial)
            except StageError as error:
                which = f"trial {trial + 1}: " if task.trials and task.trials.total > 1 else ""
                failure = describe_failure(error)
                failure = structs.replace(failure, message=f"{which}{failure.message}")
                finished.broken.append(
                    TaskFailure(stage="score", what=name, failure=failure, scorer=name)
                )
                break  # what has broken for one trial would break for the others
            late.setdefault(name, _AllSamplesScores(key, {})).scores.update(scores)
    return late


async def _trials_without_score(landed: TaskOutcomes, name: str, key: str) -> set[int]:
    return {
        outcome.trial
        async for outcome in _stream_outcomes(landed)
        if outcome.score_keys.get(name) != key and not lacks_answer(outcome)
    }


async def _stream_outcomes(landed: TaskOutcomes) -> AsyncIterator[Outcome]:
    """Yield the outcomes; yield to the event loop now and then, so that Ctrl-C works."""
    for number, outcome in enumerate(landed.outcomes()):
        if number % _YIELD_EVERY == 0:
            await asyncio.sleep(0)
        yield outcome


async def _score_trial(
    scorer: AllSamplesScorer,
    task: Finalization,
    landed: TaskOutcomes,
    snippets: Snippets | None,
    *,
    trial: int,
) -> dict[UnitIndex, Score]:
    places: list[UnitIndex] = []
    rows: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    async for outcome in _stream_outcomes(landed):
        if outcome.trial != trial or lacks_answer(outcome):
            continue
        for unit, part in enumerate(task.units(outcome)):
            places.append((outcome.ordinal, trial, unit))
            rows.append(part.sample)
            if part.trace is not None:
                outputs.append(part.trace.conversation)
    samples = task.together([ordinal for ordinal, _, _ in places]) if task.together else rows
    scores = await scorer.score_all(samples, outputs or None, snippets)
    if len(scores) != len(places):
        raise ValueError(f"expected one score per sample: {len(places)}, got {len(scores)}")
    return dict(zip(places, scores, strict=True))


def _add_scores(
    outcome: Outcome, task: Finalization, late: Mapping[str, _AllSamplesScores]
) -> Outcome:
    """Return the outcome with the new scores of the scorers of all samples."""
    place = (outcome.ordinal, outcome.trial)
    if not late or lacks_answer(outcome):
        return outcome
    units = task.units(outcome)
    new = {  # an earlier invocation may have scored this trial
        name: scored for name, scored in late.items() if not units or (*place, 0) in scored.scores
    }
    scores = [
        {**part.scores, **{name: new[name].scores[*place, unit] for name in new}}
        for unit, part in enumerate(units)
    ]
    keys = {name: scored.key for name, scored in new.items()}
    outcome = structs.replace(outcome, score_keys={**outcome.score_keys, **keys})
    if not outcome.parts:  # of some, nothing was made: that is known now, and not asked again
        return structs.replace(outcome, scores=scores[0]) if scores else outcome
    pairs = zip(outcome.parts, scores, strict=True)
    return structs.replace(
        outcome, parts=tuple(structs.replace(part, scores=scores) for part, scores in pairs)
    )
