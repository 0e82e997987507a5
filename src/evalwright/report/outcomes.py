"""What a report reads from the outcomes themselves, in one pass and flat memory.

Rows say enough for most reports. The outcomes are read for what only they have:

    primary scores   of finalized tasks that are ranked, and their verdicts for pass@k
    verdicts         of finalized tasks whose answers came with confidences
    usage            asked beside the answers, where no final result has summed it
    self-reports     replies without a number, with `--confidence self`
    options          samples answered by the likeliest letter, with `--mcq loglikelihood`
"""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from evalwright.plan.outline import CATEGORY, PrimaryMetric, TaskOutline
from evalwright.report.fold import RunFold
from evalwright.report.ranking import RankedTask
from evalwright.stats.arrays import Floats
from evalwright.stats.mean import LARGEST, plain_mean
from evalwright.types import Outcome, Score, find_self_report

MOST_CATEGORIES = 50
_CONFIDENCE = "confidence"
_TRIAL_MEAN = ".mean"
"""What the mean of a score over trials is called beside its own name."""


class TaskScores(Struct, kw_only=True):
    """The primary scores of a task with one model, sample by sample."""

    means: "array[float]"
    """The mean over the trials; NaN where one of them has no score."""
    passes: "array[int]"
    """The trials that are right; -1 where one of them is neither right nor wrong."""
    excluded: int = 0
    """Samples that rules took out of the metrics."""
    has_parts: bool = False
    """Whether a postprocessor makes samples of a sample."""
    scored: int = 0
    with_field: int = 0
    """Samples whose scores have the primary field, of those that are scored."""
    has_large_values: bool = False

    def values(self) -> Floats:
        """Return the means as an array."""
        return np.asarray(self.means)


class SampleCategories(Struct, kw_only=True):
    """The categories of the samples of a ranked task."""

    codes: "array[int]"
    """Each sample's category, as a place in `names`; -1 where it has none."""
    names: list[str] = field(default_factory=list)
    are_too_many: bool = False

    def add(self, ordinal: int, name: Any) -> None:
        """Note the category of a sample: a text that is not blank, or a number."""
        name = str(name).strip() if isinstance(name, str | int | float) else ""
        if not name or self.are_too_many:
            return
        if name not in self.names:
            self.are_too_many = len(self.names) >= MOST_CATEGORIES
            self.names.append(name)
        self.codes[ordinal] = self.names.index(name)

    def members(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield each category, and which samples are in it."""
        for name in sorted(self.names) if not self.are_too_many else ():
            yield name, np.asarray(np.asarray(self.codes) == self.names.index(name))


class OutcomeReader(Struct, kw_only=True):
    """Reads from the outcomes what a report needs."""

    tasks: Mapping[str, TaskOutline]
    fold: RunFold
    ranked: Sequence[RankedTask]
    """The finalized tasks that have a leaderboard."""
    pass_scorers: Mapping[str, str]
    """The finalized tasks that have pass@k, and the scorer that says what passes."""
    checks: Collection[tuple[str, str]]
    """The scorers that check samples, each with its task."""
    has_results: bool
    """Whether finalized tasks have their results."""
    has_self_reports: bool
    has_weighed_options: bool

    scores: dict[tuple[str, str], TaskScores] = field(default_factory=dict)
    categories: dict[str, SampleCategories] = field(default_factory=dict)
    """By task; specifications that are ranked together share theirs."""
    silent: Counter[str] = field(default_factory=Counter)
    """By model: replies without a number when it was asked how sure it is."""
    weighed: int = 0
    """Samples that were answered by the likeliest option."""

    def __post_init__(self) -> None:
        """Make room for the scores of every task that is ranked or has pass@k."""
        for group in self.ranked:
            categories = SampleCategories(codes=array("h", [-1]) * group.records)
            for contestant in group.contestants:
                self._watch(contestant.task, contestant.model)
                self.categories[contestant.task] = categories
        for name in self.pass_scorers:
            for model in self.tasks[name].models:
                self._watch(name, model)

    def _watch(self, task: str, model: str) -> None:
        size = self.tasks[task].records
        means, passes = array("d", [math.nan]) * size, array("i", [-1]) * size
        self.scores.setdefault((task, model), TaskScores(means=means, passes=passes))

    def read(self, samples: Callable[..., Iterator[Outcome]]) -> None:
        """Read every outcome, if there is anything to read."""
        has_finalized = any(task.finalized for task in self.tasks.values())
        calibrates = self.has_results and (
            any(model.has_confidences for model in self.fold.models.values())
            or (self.has_self_reports and has_finalized)
        )
        needs_finalized = self.has_weighed_options or not self.has_results
        if not (
            self.scores
            or calibrates
            or self.has_self_reports
            or (has_finalized and needs_finalized)
        ):
            self._add_failed_requests(samples)
            return
        for (name, ordinal), outcomes in groupby(
            samples(), key=lambda outcome: (outcome.task, outcome.ordinal)
        ):
            task = self.tasks.get(name)
            if task is None:
                continue
            trials: dict[str, list[Outcome]] = {}
            for outcome in outcomes:
                self._add_outcome(task, outcome, calibrates=calibrates)
                trials.setdefault(outcome.model, []).append(outcome)
            if task.finalized:
                self._add_sample(task, ordinal, trials)

    def _add_failed_requests(self, samples: Callable[..., Iterator[Outcome]]) -> None:
        """Add what was asked for samples that failed; final results say so themselves."""
        if self.fold.failed and not all(task.finalized for task in self.tasks.values()):
            for outcome in samples(failed=True):
                task = self.tasks.get(outcome.task)
                if task is not None and not task.finalized:
                    self.fold.account.add_outcome(outcome)

    def _add_outcome(self, task: TaskOutline, outcome: Outcome, *, calibrates: bool) -> None:
        if not (task.finalized and self.has_results):
            self.fold.account.add_outcome(outcome)
        elif calibrates and outcome.model in self.fold.models:
            self.fold.models[outcome.model].answers.add_outcome(
                outcome, self.checks, has_self_reports=self.has_self_reports
            )
        if self.has_self_reports:
            report = find_self_report(outcome.scores)
            if report is None and not task.finalized:  # stored before self-reports were marked
                report = outcome.scores.get(_CONFIDENCE)
            self.silent[outcome.model] += (
                report is not None and report.values.get(_CONFIDENCE) is None
            )

    def _add_sample(
        self, task: TaskOutline, ordinal: int, trials: dict[str, list[Outcome]]
    ) -> None:
        first = next(iter(trials.values()))[0]
        if task.name in self.categories:
            self.categories[task.name].add(ordinal, first.sample.get(CATEGORY))
        self.weighed += any(
            outcome.trace is not None and bool(outcome.trace.options)
            for outcomes in trials.values()
            for outcome in outcomes
        )
        for model, outcomes in trials.items():
            scores = self.scores.get((task.name, model))
            if scores is not None and _counts(scores, task, outcomes):
                if task.primary is not None:
                    _add_mean(scores, task, task.primary, outcomes)
                if task.name in self.pass_scorers:
                    _add_passes(scores, self.pass_scorers[task.name], outcomes)


def _counts(scores: TaskScores, task: TaskOutline, outcomes: Sequence[Outcome]) -> bool:
    scores.has_parts = scores.has_parts or any(outcome.parts for outcome in outcomes)
    if any(outcome.actions for outcome in outcomes):
        scores.excluded += 1
        return False
    is_undecided = any(
        outcome.failure is not None and outcome.failure.stage == "action" for outcome in outcomes
    )
    return not is_undecided and (len(outcomes) == task.tries or bool(task.landed))


def _add_mean(
    scores: TaskScores, task: TaskOutline, primary: PrimaryMetric, outcomes: Sequence[Outcome]
) -> None:
    trial_scores = _scores_of_trials(primary.scorer, outcomes)
    if not trial_scores:
        return
    names = (primary.field, primary.field.removesuffix(_TRIAL_MEAN))
    fields = [next((name for name in names if name in score.values), "") for score in trial_scores]
    scores.scored += 1
    scores.with_field += all(fields)
    numbers = [
        _number(score.values.get(name)) for score, name in zip(trial_scores, fields, strict=True)
    ]
    scores.has_large_values |= any(abs(number) > LARGEST for number in numbers)
    scores.means[outcomes[0].ordinal] = _mean_over_runs(numbers, 0 if task.landed else task.trials)


def _add_passes(scores: TaskScores, scorer: str, outcomes: Sequence[Outcome]) -> None:
    trial_scores = _scores_of_trials(scorer, outcomes)
    verdicts = [score.correct for score in trial_scores if score.correct is not None]
    if len(verdicts) == len(outcomes):
        scores.passes[outcomes[0].ordinal] = sum(verdicts)


def _scores_of_trials(scorer: str, outcomes: Sequence[Outcome]) -> list[Score]:
    scores = [outcome.scores[scorer] for outcome in outcomes if scorer in outcome.scores]
    return scores if len(scores) == len(outcomes) else []


def _mean_over_runs(numbers: Sequence[float], trials: int) -> float:
    """Return the mean of the repeats' means, summed as metrics do; NaN if a number is missing."""
    size = trials or len(numbers)
    runs = [plain_mean(numbers[at : at + size]) for at in range(0, len(numbers), size)]
    known = [mean for mean in runs if mean is not None]
    mean = plain_mean(known) if len(known) == len(runs) else None
    return math.nan if mean is None else mean


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
