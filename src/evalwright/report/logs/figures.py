"""Metrics of a log: the figures of a task, both ways.

    {"metric_key", "metric_type", "scorer_key", "scorer_name", "scorer_purpose",
     "values": {"is_correct_mean": 0.75}, "reason"}

A figure is taken as it is written: nothing is measured again. What is undefined is NaN in a log and
null with us. Our own logs bring their intervals along. A log of others has none: where the figure
is the average (the spread, the largest, the smallest value) of a score, and comes out the same from
the scores of the samples, its interval is made of these; else there is none, and the reason is
given.
"""

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.engine.finishing import Figure
from evalwright.errors import StageError, boundary
from evalwright.metrics.measure import Measure
from evalwright.report.logs.evidence import OURS, TaskFacts
from evalwright.report.logs.taken import Crooked
from evalwright.stats.interval import Interval

_MEASURED_AGAIN = ("mean", "std_dev", "min", "max")
_SAME = 1e-9
_MOST_FIELDS = 64
_NO_INTERVAL = "no interval: the log has none"
_DIFFERENT = "the scores of its samples do not give this value"
_PLAIN: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "min": min, "max": max}
"""What can be said of scores without any choice: if it is another, one of the two is wrong."""


class FigureExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of a figure: what a log of ours says beside its value."""

    n: int = 0
    failed: int = 0
    interval: Interval | None = None
    reason: str = ""
    runs: tuple[float | None, ...] = ()
    absent: int = 0
    own_key: bool = False


def metrics_of(figures: Sequence[Figure], facts: TaskFacts) -> list[dict[str, Any]]:
    """The metrics of a log, each with all its figures."""
    made = []
    for (scorer, metric), group in groupby(figures, key=lambda one: (one.scorer, one.metric)):
        listed = list(group)
        known = facts.scorers.get(scorer)
        reasons = dict.fromkeys(one.measure.reason for one in listed if one.measure.reason)
        made.append(
            {
                "metric_key": metric,
                "metric_type": listed[0].type,
                "scorer_key": scorer,
                "scorer_name": (known.name if known else "") or scorer,
                "scorer_purpose": listed[0].purpose,
                "values": {one.measure.name: _written(one.measure.value) for one in listed},
                "reason": "; ".join(reasons) or None,
                OURS: {one.measure.name: msgspec.to_builtins(_extra(one)) for one in listed},
            }
        )
    return made


def _written(value: float | None) -> float:
    return math.nan if value is None else value


def _extra(figure: Figure) -> FigureExtra:
    measure = figure.measure
    return FigureExtra(
        n=measure.n,
        failed=figure.failed,
        interval=measure.interval,
        reason=measure.reason,
        runs=figure.runs,
        absent=figure.absent,
        own_key=figure.own_key,
    )


class Told(Struct, frozen=True, kw_only=True):
    """One figure, as a log tells it."""

    scorer: str
    metric: str
    type: str
    purpose: str
    name: str
    value: float | None
    reason: str
    ours: FigureExtra | None


def told_in(metrics: Any) -> list[Told]:
    """The figures of a log's metrics; `Crooked` where they are not as they should be."""
    if not isinstance(metrics or [], list):
        raise Crooked("", "expected a list")
    return [told for number, one in enumerate(metrics or []) for told in _told(one, f"[{number}]")]


def _told(metric: Any, path: str) -> Iterator[Told]:
    if not isinstance(metric, dict):
        raise Crooked(path, "expected an object")
    values = metric.get("values")
    if not isinstance(values, dict):
        raise Crooked(f"{path}.values", "expected an object")
    ours = metric.get(OURS)
    kind = str(metric.get("metric_type") or "")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise Crooked(f"{path}.values.{name}", f"expected a number, got {type(value).__name__}")
        yield Told(
            scorer=str(metric.get("scorer_key") or metric.get("scorer_name") or ""),
            metric=str(metric.get("metric_key") or kind or name),
            type=kind,
            purpose="qa" if metric.get("scorer_purpose") == "qa" else "score",
            name=name,
            value=_number(value),
            reason=str(metric.get("reason") or ""),
            ours=_ours(ours[name], path) if isinstance(ours, dict) and name in ours else None,
        )


def _ours(extra: Any, path: str) -> FigureExtra:
    try:
        return msgspec.convert(extra, FigureExtra)
    except msgspec.ValidationError as error:
        raise Crooked(f"{path}.{OURS}", str(error)) from error


class Seen:
    """The numbers of all samples, by scorer and score: eight bytes each."""

    def __init__(self) -> None:
        self.samples: dict[str, int] = {}
        """How many samples each scorer has judged."""
        self._numbers: dict[tuple[str, str], array[float]] = {}

    def add(self, scorer: str, values: Mapping[str, Any]) -> None:
        """The score of one more sample."""
        self.samples[scorer] = self.samples.get(scorer, 0) + 1
        for field, value in values.items():
            known = self._numbers.get((scorer, field))
            number = _number(value)
            if known is None:
                if len(self._numbers) >= _MOST_FIELDS or number is None:
                    continue
                known = self._numbers[scorer, field] = array("d")
            if number is not None and math.isfinite(number):
                known.append(number)

    def of(self, scorer: str) -> dict[str, "array[float]"]:
        """The numbers of a scorer's scores, by name."""
        return {field: found for (one, field), found in self._numbers.items() if one == scorer}


def _number(value: Any) -> float | None:
    """A number or a truth value as a float; None for anything else, and for NaN."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.inf
    return None if math.isnan(number) else number


async def figures_from(told: Sequence[Told], seen: Seen, *, total: int, seed: int) -> list[Figure]:
    """What the log tells, with the intervals that can be had; `total` samples counted."""
    made = []
    for one in told:
        n = seen.samples.get(one.scorer, 0)
        measure = await _measured(one, seen, seed=seed) if one.ours is None else _as_it_was(one)
        made.append(
            Figure(
                scorer=one.scorer,
                metric=one.metric,
                measure=measure,
                purpose=one.purpose,
                type=one.type,
                failed=one.ours.failed if one.ours else max(0, total - n),
                absent=one.ours.absent if one.ours else 0,
                own_key=one.ours.own_key if one.ours else one.metric not in {one.type, one.name},
                runs=one.ours.runs if one.ours else (),
            )
        )
    return made


def _as_it_was(told: Told) -> Measure:
    ours = told.ours or FigureExtra()
    return Measure(told.name, told.value, ours.interval, ours.n, ours.reason)


async def _measured(told: Told, seen: Seen, *, seed: int) -> Measure:
    n = seen.samples.get(told.scorer, 0)
    if told.value is None:
        return Measure(told.name, None, None, n, told.reason or "undefined in the log")
    if not math.isfinite(told.value):
        return Measure(told.name, None, None, n, f"{told.value} in the log")
    if told.type in _MEASURED_AGAIN:
        for field, numbers in _likely_first(told, seen.of(told.scorer)):
            again = await _again(told.type, field, numbers, seed=seed)
            if again.value is not None and math.isclose(
                again.value, told.value, rel_tol=_SAME, abs_tol=_SAME
            ):
                return Measure(told.name, told.value, again.interval, again.n, again.reason)
        why = f"{_NO_INTERVAL}, and {_DIFFERENT}"
    else:
        why = f"{_NO_INTERVAL}, and `{told.type or told.metric}` is not measured again"
    return Measure(told.name, told.value, None, n, "; ".join(filter(None, (told.reason, why))))


def contradictions(told: Sequence[Told], figures: Sequence[Figure], seen: Seen) -> Iterator[str]:
    """For the report: figures that the samples of their log do not bear out."""
    for one, figure in zip(told, figures, strict=True):
        if one.ours is None and one.type in _PLAIN and _DIFFERENT in figure.measure.reason:
            found = [
                round(_PLAIN[one.type](each), 6)
                for _, each in _likely_first(one, seen.of(one.scorer))
                if each
            ]
            if found:
                yield (
                    f"`{one.name}` of `{one.scorer}` is {one.value:.6g} in the log, and "
                    f"{found[0]:.6g} by the scores of its samples"
                )


def _likely_first(
    told: Told, numbers: Mapping[str, "array[float]"]
) -> Iterator[tuple[str, "array[float]"]]:
    """The score that the figure is named after; one that is not, only if there is no other."""
    named = told.name.removesuffix(f"_{told.type}")
    if named in numbers:
        yield named, numbers[named]
    elif len(numbers) == 1:
        yield from numbers.items()


async def _again(kind: str, field: str, numbers: "array[float]", *, seed: int) -> Measure:
    import numpy as np
    from pydantic import TypeAdapter

    from evalwright.metrics.any import AnyMetric
    from evalwright.metrics.scores import Scores

    metric: Any = TypeAdapter(AnyMetric).validate_python({"type": kind, "field": field})
    scores = Scores({field})
    for one in numbers:
        scores.add({field: one}, {})
    try:
        with boundary("metric"), np.errstate(all="ignore"):
            measures: list[Measure] = await metric.measure(scores, seed=seed, snippets=None)
    except StageError as error:  # the figure is the log's all the same
        return Measure(field, None, None, 0, str(error))
    return measures[0]
