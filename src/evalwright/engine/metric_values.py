"""Scores to metric values, scorer by scorer.

With several runs of the same task, each metric is measured in every run, and its value is the mean
over the runs. Its interval is that of the same metric over the samples, each averaged over the
runs, if that gives the same value. This is true for every mean, and for every share of a value,
which is the mean of having it. A metric that is not an average over samples has no interval.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from msgspec import structs

from evalwright.engine.results import FinalResult, MetricValue, TaskFailure, describe_failure
from evalwright.errors import StageError, boundary
from evalwright.metrics.scores import Measure, Scores, shares_over_runs
from evalwright.plan.finalization import Finalization, ScorerMetrics, TaskMetric, TrialPlan
from evalwright.ports import Snippets
from evalwright.stats.interval import UNBOUNDED, join_bounds
from evalwright.stats.mean import plain_mean
from evalwright.types import Outcome, Part

_NOT_ASKED = "not computed: samples are missing"
_EQUAL_WITHIN = 1e-9
_NOT_AN_AVERAGE = "no interval: a value over several runs is not a mean over samples"


class ScoreTable:
    """What the metrics of one scorer read."""

    def __init__(self, measured: ScorerMetrics, trials: int = 1, repeats: int = 1) -> None:
        fields = [metric.fields() for _, metric in measured.metrics]
        named = frozenset(name for names in fields if names is not None for name in names)
        kept, ranges = None if None in fields else named, measured.ranges
        all_fields = measured.default_metric is not None
        make = partial(Scores, ranges=ranges, keeps_all=all_fields)
        self.runs = [make(kept, trials=trials) for _ in range(repeats)]
        self.averaged = make(named, trials=trials * repeats) if repeats > 1 else None
        """Each sample averaged over the runs; None if there is only one run."""
        self.lacking: dict[str, str] = {}
        """The scores without a value over trials, and why."""
        self.aliases: set[str] = set()
        """The scores that have a second name."""

    @property
    def n(self) -> int:
        """Number of samples in it."""
        return self.runs[0].n


def build_score_tables(task: Finalization) -> dict[str, ScoreTable]:
    """Return one for each scorer that has metrics, or may get default metrics."""
    plan = task.trials or TrialPlan()
    return {
        name: ScoreTable(measured, plan.trials, plan.repeats)
        for name, measured in task.measured.items()
    }


def collect_scores(units: Iterable[Outcome | Part], books: Mapping[str, ScoreTable]) -> None:
    """Add the scores of one sample with a single trial."""
    for unit in units:
        for name, score in unit.scores.items() if not unit.actions else ():
            if name in books:
                books[name].runs[0].add(score.values, score.metadata)


async def measure_scorers(
    task: Finalization,
    books: Mapping[str, ScoreTable],
    finished: FinalResult,
    snippets: Snippets | None,
    *,
    seed: int,
    unasked: frozenset[str],
) -> None:
    """Compute every metric of every scorer; a failure affects only its own metric."""
    counted = finished.scored - finished.left_out
    for name, measured in task.measured.items():
        book = books[name]
        failed = 0 if name in unasked else max(0, counted - book.n)
        for key, metric in measured.metrics or _default_metrics(measured, book):
            runs: list[list[Measure]] = []
            bounds = UNBOUNDED
            try:
                with boundary("metric"):
                    if name in unasked:
                        measures = [Measure(key, None, None, 0, _NOT_ASKED)]
                    elif why := _missing_reason(metric, book):
                        measures = [Measure(key, None, None, 0, why)]
                    else:
                        measures, runs = await _measure_runs(metric, book, snippets, seed=seed)
                        bounds = join_bounds(metric.bounds(scores) for scores in book.runs)
            except StageError as error:
                what = f"{name}.{key}"
                failure = describe_failure(error, what)
                finished.broken.append(
                    TaskFailure(stage="metric", what=what, failure=failure, scorer=name, metric=key)
                )
                measures = [Measure(key, None, None, 0, error.message)]
            if finished.fanned:
                measures = [_drop_interval(measure) for measure in measures]
            finished.figures += [
                MetricValue(
                    scorer=name,
                    metric=key,
                    measure=measure,
                    purpose=measured.purpose,
                    type=metric.type,
                    failed=failed,
                    absent=_count_missing(metric, book, measure),
                    own_key=key in measured.own_keys,
                    is_default=measured.default_metric is not None,
                    runs=tuple(_run_value(measure.name, run, metric) for run in runs),
                    bounds=bounds,
                )
                for measure in measures
            ]


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


def _drop_interval(measure: Measure) -> Measure:
    """Remove the interval if samples have parts: these are not independent."""
    reason = "no interval: the parts of one sample are not independent"
    return structs.replace(measure, interval=None, reason=measure.reason or reason)
