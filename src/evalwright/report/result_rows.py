"""Rows of a report that are made from the final results of tasks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from evalwright.engine.results import MetricValue, TaskModelResult
from evalwright.report.report import (
    AgreementRow,
    FailureRow,
    FlakyRow,
    MetricRow,
    RepeatRow,
    RuleRow,
)
from evalwright.stats.deviation import deviation
from evalwright.stats.interval import Interval
from evalwright.stats.mean import LARGEST, plain_mean, student_interval

_LONGEST = 80
_TOO_LARGE = "no spread: the figures are too large to be squared"


def metric_names(values: Sequence[MetricValue]) -> list[str]:
    """Return what a report calls each: the metric's name, with its key where two have one name."""
    names = Counter((value.scorer, value.measure.name) for value in values)
    return [
        value.measure.name
        if names[value.scorer, value.measure.name] == 1
        else f"{value.metric}_{value.measure.name}"
        for value in values
    ]


def metric_rows(result: TaskModelResult) -> Iterator[MetricRow]:
    """Yield a row per metric."""
    values = result.finished.figures
    for name, value in zip(metric_names(values), values, strict=True):
        interval = value.measure.interval
        yield MetricRow(
            task=result.task,
            model=result.model,
            scorer=value.scorer,
            metric=name,
            value=value.measure.value,
            ci_low=interval.low if interval else None,
            ci_high=interval.high if interval else None,
            interval=interval.method if interval else None,
            n=value.measure.n,
            failed=value.failed,
            excluded=result.finished.left_out,
            purpose="qa" if value.purpose == "qa" else "score",
            reason=value.measure.reason,
            key=value.metric,
            own_key=value.own_key,
            name=value.measure.name,
            absent=value.absent,
        )


def task_failure_rows(results: Iterable[TaskModelResult]) -> list[FailureRow]:
    """Return a row per failure of a task that is no sample's."""
    return [
        FailureRow(
            model=result.model,
            stage=broken.stage,
            type=broken.failure.type,
            message=f"{result.task}: {broken.failure.message}",
            hint=broken.failure.hint,
            count=1,
            sample_ids=[],
            task=result.task,
            scorer=broken.scorer,
            metric=broken.metric,
        )
        for result in results
        for broken in result.finished.broken
    ]


def rule_rows(results: Iterable[TaskModelResult]) -> list[RuleRow]:
    """Return a row per action rule."""
    return [
        RuleRow(task=result.task, model=result.model, rule=rule, excluded=excluded)
        for result in results
        for rule, excluded in result.finished.excluded.items()
    ]


def repeat_rows(result: TaskModelResult) -> Iterator[RepeatRow]:
    """Yield a row per metric that was measured in every run."""
    values = result.finished.figures
    for name, value in zip(metric_names(values), values, strict=True):
        if value.runs:
            yield _repeat_row(result, name, value)


def _repeat_row(result: TaskModelResult, name: str, value: MetricValue) -> RepeatRow:
    known = np.asarray([run for run in value.runs if run is not None], dtype=np.float64)
    is_whole = known.size == len(value.runs)
    reason = "" if is_whole else value.measure.reason
    is_small = bool(known.size) and float(np.abs(known).max()) <= LARGEST
    spread = deviation(known) if is_whole and is_small else None
    interval = student_interval(known) if spread else None
    if interval and value.bounded:
        interval = Interval(max(0.0, interval.low), min(1.0, interval.high), interval.method)
    if is_whole and not interval:
        reason = "no interval: all runs gave the same" if is_small else _TOO_LARGE
    return RepeatRow(
        task=result.task,
        model=result.model,
        scorer=value.scorer,
        metric=name,
        runs=len(value.runs),
        mean=plain_mean(known.tolist()) if is_whole else None,
        std=spread,
        min=float(known.min()) if is_whole else None,
        max=float(known.max()) if is_whole else None,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        interval=interval.method if interval else None,
        values=list(value.runs),
        reason=reason,
    )


def agreement_rows(result: TaskModelResult, runs: int) -> Iterator[AgreementRow]:
    """Yield a row per score."""
    for agreement in result.finished.agreements:
        interval = agreement.interval
        yield AgreementRow(
            task=result.task,
            model=result.model,
            scorer=agreement.scorer,
            score=agreement.score,
            agreement=agreement.mean,
            ci_low=interval.low if interval else None,
            ci_high=interval.high if interval else None,
            interval=interval.method if interval else None,
            n=agreement.n,
            flaky=agreement.flaky,
            runs=runs,
        )


def flaky_rows(result: TaskModelResult) -> Iterator[FlakyRow]:
    """Yield a row per sample of those on which the runs agree least."""
    for sample in result.finished.flaky:
        yield FlakyRow(
            task=result.task,
            model=result.model,
            sample_id=sample.sample_id,
            scorer=sample.scorer,
            score=sample.score,
            agreement=sample.agreement,
            values=[(_shorten(value), runs) for value, runs in sample.values],
        )


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
