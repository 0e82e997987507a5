"""Scores to metric values, scorer by scorer, for all samples and for groups of them.

With several runs of the same task, each metric is measured in every run, and its value is the mean
over the runs. Its interval is that of the same metric over the samples, each averaged over the
runs, if that gives the same value. This is true for every mean, and for every share of a value,
which is the mean of having it. A metric that is not an average over samples has no interval.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct, field, structs

from evalwright.engine.results import FinalResult, MetricValue, TaskFailure, describe_failure
from evalwright.engine.sample_labels import SampleLabels
from evalwright.errors import StageError, boundary
from evalwright.metrics.scores import Measure, Scores, shares_over_runs
from evalwright.plan.finalization import Finalization, ScorerMetrics, TaskMetric, TrialPlan
from evalwright.ports import Snippets
from evalwright.stats.arrays import np
from evalwright.stats.interval import UNBOUNDED, join_bounds
from evalwright.stats.mean import plain_mean
from evalwright.types import Outcome, Part

_NOT_ASKED = "not computed: samples are missing"
_EQUAL_WITHIN = 1e-9
MOST_GROUPS = 10_000
"""Groups of a metric; more would be a mistake, such as grouping by an id."""
_NOT_AN_AVERAGE = "no interval: a value over several runs is not a mean over samples"


class ScoreTable(Struct, kw_only=True):
    """What the metrics of one scorer read."""

    runs: list[Scores]
    averaged: Scores | None = None
    """Each sample averaged over the runs; None if there is only one run."""
    lacking: dict[str, str] = field(default_factory=dict)
    """The scores without a value over trials, and why."""
    aliases: set[str] = field(default_factory=set)
    """The scores that have a second name."""

    @property
    def n(self) -> int:
        """Number of samples in it."""
        return self.runs[0].n

    def split(self, expression: str, labels: Sequence[str]) -> "list[ScoreTable]":
        """Return a table per label, of the samples to which the expression gives this label."""
        known = self.runs[0].labels(expression)
        ordered = np.argsort(known.codes, kind="stable")
        ends = np.searchsorted(known.codes[ordered], np.arange(len(known.texts) + 1))
        spans = {
            text: ordered[ends[code] : ends[code + 1]] for code, text in enumerate(known.texts)
        }
        groups = [spans.get(label, ordered[:0]) for label in labels]
        runs = zip(*(run.split(groups) for run in self.runs), strict=True)
        averaged = self.averaged.split(groups) if self.averaged else [None] * len(groups)
        return [
            ScoreTable(runs=[*of_group], averaged=mean, lacking=self.lacking, aliases=self.aliases)
            for of_group, mean in zip(runs, averaged, strict=True)
        ]


def build_score_tables(task: Finalization) -> dict[str, ScoreTable]:
    """Return one for each scorer that has metrics, or may get default metrics."""
    plan = task.trials or TrialPlan()
    return {name: _build_score_table(measured, plan) for name, measured in task.measured.items()}


def _build_score_table(measured: ScorerMetrics, plan: TrialPlan) -> ScoreTable:
    fields = [metric.fields() for _, metric in measured.metrics]
    named = frozenset(name for names in fields if names is not None for name in names)
    expressions = {each.source for _, metric in measured.metrics for each in metric.expressions}
    make = partial(
        Scores,
        ranges=measured.ranges,
        keeps_all=measured.default_metric is not None,
        expressions=expressions,
    )
    kept = None if None in fields else named
    return ScoreTable(
        runs=[make(kept, trials=plan.trials) for _ in range(plan.repeats)],
        averaged=make(named, trials=plan.total) if plan.repeats > 1 else None,
    )


def collect_scores(
    unit: Outcome | Part, labels: Mapping[str, str | None], tables: Mapping[str, ScoreTable]
) -> None:
    """Add the scores of one sample with a single trial."""
    for name, score in unit.scores.items() if not unit.actions else ():
        if name in tables:
            tables[name].runs[0].add(score.values, score.metadata, labels)


class Measuring(Struct, frozen=True, kw_only=True):
    """What is needed to compute the metrics of a task."""

    snippets: Snippets | None
    seed: int
    unasked: frozenset[str]
    """The scorers that were not called, because samples are missing."""
    labels: SampleLabels
    """The labels of the samples, which define groups."""


async def measure_scorers(
    task: Finalization,
    tables: Mapping[str, ScoreTable],
    finished: FinalResult,
    measuring: Measuring,
) -> None:
    """Compute every metric of every scorer; a failure affects only its own metric."""
    for name, measured in task.measured.items():
        for key, metric in measured.metrics or _default_metrics(measured, tables[name]):
            measurement = _Measurement(
                scorer=name, key=key, metric=metric, measured=measured, measuring=measuring
            )
            finished.figures += await measurement.measure(tables[name], finished)


class _Measurement(Struct, frozen=True, kw_only=True):
    """One metric of one scorer, computed for all samples and for groups."""

    scorer: str
    key: str
    metric: TaskMetric
    measured: ScorerMetrics
    measuring: Measuring

    async def measure(self, table: ScoreTable, finished: FinalResult) -> list[MetricValue]:
        """Return the values for all samples, then those of each group."""
        scored = finished.scored - finished.left_out
        values, is_broken = await self._values(table, finished, scored=scored)
        if self.metric.by is None or is_broken or self.scorer in self.measuring.unasked:
            return values
        source, labels = self.metric.by.source, self.measuring.labels
        if error := labels.errors.get(source):
            self._add_failure(finished, StageError("metric", ValueError(f"`by`: {error}")))
            return values
        counts, excluded = labels.scored[source], labels.excluded[source]
        groups = sorted(label for label in counts if label is not None)
        if len(groups) > MOST_GROUPS:
            finished.notes[
                f"`{self.scorer}.{self.key}` has no groups, because `by` has {len(groups):,} "
                f"different values; the maximum is {MOST_GROUPS:,}"
            ] = 1
            return values
        values = [structs.replace(value, ungrouped=counts[None]) for value in values]
        for label, own in zip(groups, table.split(source, groups), strict=True):
            scored = counts[label] - excluded[label]
            of_group, is_failed = await self._values(
                own, None if is_broken else finished, scored=scored
            )
            is_broken = is_broken or is_failed  # the first failure says enough
            values += [
                structs.replace(value, group=label, excluded=excluded[label]) for value in of_group
            ]
        return values

    async def _values(
        self, table: ScoreTable, finished: FinalResult | None, *, scored: int
    ) -> tuple[list[MetricValue], bool]:
        """Return the values over a table, and whether the metric failed."""
        metric, measuring = self.metric, self.measuring
        runs: list[list[Measure]] = []
        bounds, is_broken = UNBOUNDED, False
        is_unasked = self.scorer in measuring.unasked
        try:
            with boundary("metric"):
                if is_unasked:
                    measures = [Measure(self.key, None, None, 0, _NOT_ASKED)]
                elif why := _missing_reason(metric, table):
                    measures = [Measure(self.key, None, None, 0, why)]
                else:
                    measures, runs = await _measure_runs(
                        metric, table, measuring.snippets, seed=measuring.seed
                    )
                    bounds = join_bounds(metric.bounds(scores) for scores in table.runs)
        except StageError as error:
            is_broken = True
            if finished is not None:
                self._add_failure(finished, error)
            measures = [Measure(self.key, None, None, 0, error.message)]
        values = [
            MetricValue(
                scorer=self.scorer,
                metric=self.key,
                measure=measure,
                purpose=self.measured.purpose,
                type=metric.type,
                failed=0 if is_unasked else max(0, scored - table.n),
                absent=_count_missing(metric, table, measure),
                own_key=self.key in self.measured.own_keys,
                is_default=self.measured.default_metric is not None,
                runs=tuple(_run_value(measure.name, run, metric) for run in runs),
                bounds=bounds,
            )
            for measure in measures
        ]
        return values, is_broken

    def _add_failure(self, finished: FinalResult, error: StageError) -> None:
        what = f"{self.scorer}.{self.key}"
        finished.broken.append(
            TaskFailure(
                stage="metric",
                what=what,
                failure=describe_failure(error, what),
                scorer=self.scorer,
                metric=self.key,
            )
        )


def _default_metrics(measured: ScorerMetrics, book: ScoreTable) -> list[tuple[str, TaskMetric]]:
    if measured.default_metric is None:
        return []
    names = dict.fromkeys(name for scores in book.runs for name in scores.numeric_fields())
    fields = [name for name in names if name not in book.aliases]
    metrics = [(field, measured.default_metric(field)) for field in fields]
    several = len(fields) > 1
    return [(f"{each.type}_{field}" if several else each.type, each) for field, each in metrics]


def _count_missing(metric: TaskMetric, book: ScoreTable, measure: Measure) -> int:
    """Return how many scores have no value for a metric; unknown for an author's code."""
    if metric.fields() is None or measure.value is None:
        return 0
    return max(0, min(run.n for run in book.runs) - measure.n)


def _missing_reason(metric: TaskMetric, book: ScoreTable) -> str:
    """Return why a metric has nothing to read over trials; empty if it has."""
    for name in sorted(metric.fields() or ()):
        if name in book.lacking and not book.runs[0].has(name):
            return book.lacking[name]
    return ""


async def _measure_runs(
    metric: TaskMetric, book: ScoreTable, snippets: Snippets | None, *, seed: int
) -> tuple[list[Measure], list[list[Measure]]]:
    runs = [await metric.measure(measure, seed=seed, snippets=snippets) for measure in book.runs]
    if book.averaged is None:
        return runs[0], []
    over: list[Measure] = []
    if metric.type == "frequency":
        over = shares_over_runs(next(iter(metric.fields() or ())), book.runs, seed=seed)
    elif all(book.averaged.has(name) for name in metric.fields() or ()) and metric.fields():
        over = await metric.measure(book.averaged, seed=seed, snippets=snippets)
    by_name = {measure.name: measure for measure in over}
    names = dict.fromkeys(measure.name for run in runs for measure in run)
    return [_combine_runs(name, runs, by_name.get(name), metric) for name in names], runs


def _combine_runs(
    name: str, runs: Sequence[Sequence[Measure]], over: Measure | None, metric: TaskMetric
) -> Measure:
    there = [measure for run in runs for measure in run if measure.name == name]
    n = min(measure.n for measure in there)
    values = [_run_value(name, run, metric) for run in runs]
    known = [measure for measure in values if measure is not None]
    if len(known) < len(values):
        reasons = dict.fromkeys(measure.reason for measure in there if measure.reason)
        missing = f"no value in {len(values) - len(known)} of {len(values)} runs"
        return Measure(name, None, None, n, "; ".join([missing, *reasons]))
    mean = plain_mean(known)
    if mean is None:
        return Measure(name, None, None, n, "no mean of infinite numbers")
    if (
        over is None
        or over.value is None
        or not math.isclose(over.value, mean, abs_tol=_EQUAL_WITHIN)
    ):
        return Measure(name, mean, None, n, _NOT_AN_AVERAGE)
    return Measure(name, mean, over.interval, n, over.reason)


def _run_value(name: str, run: Iterable[Measure], metric: TaskMetric) -> float | None:
    """Return the value of one run. A label that does not occur has the share 0."""
    values = [measure.value for measure in run if measure.name == name]
    if values:
        return values[0]
    return 0.0 if metric.type == "frequency" and any(measure.n for measure in run) else None
