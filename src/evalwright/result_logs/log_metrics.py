"""Convert the metrics of a log to JSON and back.

    {"metric_key", "metric_type", "scorer_key", "scorer_name", "scorer_purpose",
     "values": {"is_correct_mean": 0.75}, "reason"}

Values are read from the log unchanged. An undefined value is NaN in a log and null in a report.
Logs written by evalwright contain intervals; logs of other tools do not. For these, intervals are
computed from the samples if the metric is the mean, standard deviation, minimum or maximum of a
score and the scores of the samples give the same value. Otherwise, the metric has no interval, and
the reason is stated.
"""

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from statistics import fmean
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from evalwright.engine.results import MetricValue
from evalwright.errors import StageError, boundary
from evalwright.metrics.scores import Measure, Scores
from evalwright.plan.specifications import LOG_EXTENSION
from evalwright.registry import load
from evalwright.result_logs.log_outcomes import (
    MalformedLog,
    TaskFacts,
    read_extension,
    require_list,
)
from evalwright.stats.interval import UNBOUNDED, Bounds, Interval

_RECOMPUTED = ("mean", "std_dev", "min", "max")
_TOLERANCE = 1e-9
_MOST_FIELDS = 64
_NO_INTERVAL = "no interval: the log has none"
_DIFFERENT = "the scores of its samples give a different value"
_UNAMBIGUOUS: Mapping[str, Callable[..., float]] = {"mean": fmean, "min": min, "max": max}
"""Metrics with an unambiguous definition: if log and samples differ, one of them is wrong."""


class MetricExtension(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Information about a metric value that the format does not support."""

    n: int = 0
    failed: int = 0
    interval: Interval | None = None
    reason: str = ""
    runs: tuple[float | None, ...] = ()
    absent: int = 0
    own_key: bool = False
    is_default: bool = False
    bounds: Bounds = UNBOUNDED


def metrics_to_json(metrics: Sequence[MetricValue], facts: TaskFacts) -> list[dict[str, Any]]:
    """Return the metrics for a log, each with all its values; the format has no groups."""
    written = []
    whole = (value for value in metrics if value.group is None)
    for (scorer, metric), of_metric in groupby(whole, key=attrgetter("scorer", "metric")):
        values = list(of_metric)
        measures = [value.measure for value in values]
        known = facts.scorers.get(scorer)
        reasons = dict.fromkeys(measure.reason for measure in measures if measure.reason)
        written.append(
            {
                "metric_key": metric,
                "metric_type": values[0].type,
                "scorer_key": scorer,
                "scorer_name": (known.name if known else "") or scorer,
                "scorer_purpose": values[0].purpose,
                "values": {
                    measure.name: math.nan if measure.value is None else measure.value
                    for measure in measures
                },
                "reason": "; ".join(reasons) or None,
                LOG_EXTENSION: {value.measure.name: _extension_to_json(value) for value in values},
            }
        )
    return written


def _extension_to_json(metric: MetricValue) -> Any:
    extension = MetricExtension(
        n=metric.measure.n,
        failed=metric.failed,
        interval=metric.measure.interval,
        reason=metric.measure.reason,
        runs=metric.runs,
        absent=metric.absent,
        own_key=metric.own_key,
        is_default=metric.is_default,
        bounds=metric.bounds,
    )
    return msgspec.to_builtins(extension)


class LoggedMetric(Struct, frozen=True, kw_only=True):
    """A metric value in a log."""

    value: MetricValue
    is_ours: bool
    """Whether evalwright wrote the log, which then contains the interval."""


def metrics_from_json(metrics: Any) -> list[LoggedMetric]:
    """Parse all metric values of a log; `MalformedLog` if their structure is invalid."""
    return [
        value
        for number, metric in enumerate(require_list(metrics, ""))
        for value in _read_metric(metric, f"[{number}]")
    ]


def _read_metric(metric: Any, path: str) -> Iterator[LoggedMetric]:
    if not isinstance(metric, dict):
        raise MalformedLog(path, "expected an object")
    values = metric.get("values")
    if not isinstance(values, dict):
        raise MalformedLog(f"{path}.values", "expected an object")
    ours = metric.get(LOG_EXTENSION)
    extensions = ours if isinstance(ours, dict) else {}
    kind = str(metric.get("metric_type") or "")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            what = f"expected a number, got {type(value).__name__}"
            raise MalformedLog(f"{path}.values.{name}", what)
        key = str(metric.get("metric_key") or kind or name)
        more = MetricExtension(
            own_key=key not in {kind, name}, reason=str(metric.get("reason") or "")
        )
        if name in extensions:
            more = read_extension(extensions[name], MetricExtension, path)
        logged = MetricValue(
            scorer=str(metric.get("scorer_key") or metric.get("scorer_name") or ""),
            metric=key,
            measure=Measure(name, _to_float(value), more.interval, more.n, more.reason),
            purpose="qa" if metric.get("scorer_purpose") == "qa" else "score",
            type=kind,
            failed=more.failed,
            absent=more.absent,
            own_key=more.own_key,
            is_default=more.is_default,
            runs=more.runs,
            bounds=more.bounds,
        )
        yield LoggedMetric(value=logged, is_ours=name in extensions)


class ScoreColumns:
    """Numeric scores of all samples, by scorer and score, with eight bytes per value."""

    def __init__(self) -> None:
        self.samples: dict[str, int] = {}
        """Number of samples that each scorer scored."""
        self._columns: dict[tuple[str, str], array[float]] = {}

    def add(self, scorer: str, values: Mapping[str, Any]) -> None:
        """Add the score of a sample."""
        self.samples[scorer] = self.samples.get(scorer, 0) + 1
        for field, value in values.items():
            column = self._columns.get((scorer, field))
            number = _to_float(value)
            if column is None:
                if len(self._columns) >= _MOST_FIELDS or number is None:
                    continue
                column = self._columns[scorer, field] = array("d")
            if number is not None and math.isfinite(number):
                column.append(number)

    def column_for(self, metric: MetricValue) -> tuple[str, "array[float]"] | None:
        """Return the score in the metric's name, or else the scorer's only score."""
        columns = {
            field: numbers
            for (scorer, field), numbers in self._columns.items()
            if scorer == metric.scorer
        }
        field = metric.measure.name.removesuffix(f"_{metric.type}")
        if field in columns:
            return field, columns[field]
        return next(iter(columns.items())) if len(columns) == 1 else None


def _to_float(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.inf
    return None if math.isnan(number) else number


async def add_intervals(
    metrics: Sequence[LoggedMetric], columns: ScoreColumns, *, total: int, seed: int
) -> list[MetricValue]:
    """Return the metrics of a log, with intervals where possible; `total` is the sample count."""
    values = []
    for metric in metrics:
        value = metric.value
        if not metric.is_ours:
            measure = await _recompute(value, columns, seed=seed)
            failed = max(0, total - columns.samples.get(value.scorer, 0))
            value = msgspec.structs.replace(value, measure=measure, failed=failed)
        values.append(value)
    return values


async def _recompute(metric: MetricValue, columns: ScoreColumns, *, seed: int) -> Measure:
    """Return the value in the log, with an interval if the samples give the same value."""
    name, value, reason = metric.measure.name, metric.measure.value, metric.measure.reason
    n = columns.samples.get(metric.scorer, 0)
    if value is None:
        return Measure(name, None, None, n, reason or "undefined in the log")
    if not math.isfinite(value):
        return Measure(name, None, None, n, f"{value} in the log")
    why = f"{_NO_INTERVAL}, and `{metric.type or metric.metric}` is not recomputed"
    if metric.type in _RECOMPUTED:
        why = f"{_NO_INTERVAL}, and {_DIFFERENT}"
        if column := columns.column_for(metric):
            recomputed = await _measure(metric.type, *column, seed=seed)
            if recomputed.value is not None and math.isclose(
                recomputed.value, value, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE
            ):
                return Measure(name, value, recomputed.interval, recomputed.n, recomputed.reason)
    return Measure(name, value, None, n, "; ".join(filter(None, (reason, why))))


def describe_contradictions(
    metrics: Sequence[LoggedMetric], values: Sequence[MetricValue], columns: ScoreColumns
) -> Iterator[str]:
    """Yield a note for each metric that contradicts the samples in its log."""
    for metric, value in zip(metrics, values, strict=True):
        if metric.is_ours or value.type not in _UNAMBIGUOUS:
            continue
        column = columns.column_for(value)
        if column and column[1] and _DIFFERENT in value.measure.reason:
            recomputed = round(_UNAMBIGUOUS[value.type](column[1]), 6)
            yield (
                f"`{value.measure.name}` of `{value.scorer}` is {value.measure.value:.6g} in the "
                f"log, but {recomputed:.6g} from the scores of its samples"
            )


async def _measure(kind: str, field: str, numbers: "array[float]", *, seed: int) -> Measure:
    scores = Scores({field})
    for number in numbers:
        scores.add({field: number}, {})
    try:
        with boundary("metric"), np.errstate(all="ignore"):
            metric = load("metrics", kind)(type=kind, field=field)
            measures: list[Measure] = await metric.measure(scores, seed=seed, snippets=None)
    except StageError as error:  # the value in the log is used in any case
        return Measure(field, None, None, 0, error.message)
    return measures[0]
