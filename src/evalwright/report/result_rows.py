"""Rows of a report: metrics, failures by kind, agreement of several runs, and usage.

`usage` of a report is of the answers that are evaluated. `asked_beside` is what scorers and solvers
asked of any model, the evaluated one too: judges, embeddings, simulated users. A score that an
earlier run has paid for is not counted again: nothing was asked for it now.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct, field

from evalwright.engine.results import FinalResult, MetricValue, TaskModelResult
from evalwright.engine.usage import split_usage
from evalwright.report.report import (
    AgreementRow,
    FailureRow,
    FlakyRow,
    MetricRow,
    RepeatRow,
    RuleRow,
    UsageRow,
    interval_fields,
)
from evalwright.report.tables import truncate
from evalwright.stats.deviation import deviation
from evalwright.stats.interval import clip_interval
from evalwright.stats.mean import LARGEST, plain_mean, student_interval
from evalwright.types import Failure, Outcome, Row, Usage

_LONGEST = 80
_TOO_LARGE = "no spread: the values are too large to be squared"
_SHOWN_IDS = 5
SMALL_GROUP = 20
"""Groups with fewer samples are marked: their values are too uncertain for a conclusion."""
_MOST_COMPARED = 1_000
"""Failures whose messages are compared: of a million, the first say enough."""

FailureKinds = dict[tuple[str, str, str], "FailureKind"]
"""By model, stage and type."""


def metric_rows(result: TaskModelResult, *, excluded_rows: int = 0) -> Iterator[MetricRow]:
    """Yield a row per metric; `excluded_rows` bad rows were left out of the dataset."""
    left_out = result.finished.left_out + excluded_rows
    for name, value in _name_metrics(result):
        excluded = left_out if value.group is None else value.excluded
        yield metric_row(result.task, result.model, value, metric=name, excluded=excluded)


def _name_metrics(result: TaskModelResult) -> Iterator[tuple[str, MetricValue]]:
    values = result.finished.figures
    whole = (value for value in values if value.group is None)
    names = Counter((value.scorer, value.measure.name) for value in whole)
    for value in values:
        name = value.measure.name
        yield name if names[value.scorer, name] <= 1 else f"{value.metric}_{name}", value


def metric_row(
    task: str, model: str, value: MetricValue, *, metric: str = "", excluded: int
) -> MetricRow:
    """Return the row of a metric; without `metric`, under its own name."""
    measure = value.measure
    return MetricRow(
        task=task,
        model=model,
        scorer=value.scorer,
        metric=metric or measure.name,
        value=measure.value,
        **interval_fields(measure.interval),
        n=measure.n,
        failed=value.failed,
        excluded=excluded,
        purpose="qa" if value.purpose == "qa" else "score",
        reason=measure.reason,
        key=value.metric,
        own_key=value.own_key,
        name=measure.name,
        absent=value.absent,
        is_default=value.is_default,
        group=value.group,
        small=value.group is not None and measure.n < SMALL_GROUP,
        ungrouped=value.ungrouped,
    )


class FailureKind(Struct):
    """Failures of one model, stage and type."""

    count: int = 0
    sample_ids: list[str] = field(default_factory=list)


def count_failure(kinds: FailureKinds, row: Row, failure_type: str) -> None:
    """Count a row that failed."""
    key = (row.model, row.failure_stage or "", failure_type)
    kind = kinds.setdefault(key, FailureKind())
    kind.count += 1
    if len(kind.sample_ids) < _SHOWN_IDS:
        kind.sample_ids.append(row.sample_id)


def failure_rows(kinds: FailureKinds, failed: Iterator[Outcome]) -> list[FailureRow]:
    """Return a row per kind, with the message of its first failure."""
    first: dict[tuple[str, str, str], Failure] = {}
    messages: dict[tuple[str, str, str], set[str]] = {}
    for number, outcome in enumerate(failed):
        if failure := outcome.failure:
            key = (outcome.model, failure.stage, failure.type)
            first.setdefault(key, failure)
            if number < _MOST_COMPARED:
                messages.setdefault(key, set()).add(failure.message)
        if number >= _MOST_COMPARED and len(first) == len(kinds):
            break
    return [
        FailureRow(
            model=key[0],
            stage=key[1],
            type=key[2],
            message=first[key].message,
            hint=first[key].hint,
            count=kind.count,
            sample_ids=kind.sample_ids,
            messages=len(messages.get(key, ())) or 1,
        )
        for key, kind in sorted(kinds.items())
        if key in first
    ]


def task_failure_rows(results: Iterable[TaskModelResult]) -> list[FailureRow]:
    """Return a row per failure of a task that is no sample's."""
    return [
        FailureRow(
            model=result.model,
            stage=failed.stage,
            type=failed.failure.type,
            message=f"{result.task}: {failed.failure.message}",
            hint=failed.failure.hint,
            count=1,
            sample_ids=[],
            task=result.task,
            scorer=failed.scorer,
            metric=failed.metric,
        )
        for result in results
        for failed in result.finished.broken
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
    for name, value in _name_metrics(result):
        if value.runs:
            yield _repeat_row(result, name, value)


def _repeat_row(result: TaskModelResult, name: str, value: MetricValue) -> RepeatRow:
    known = np.asarray([run for run in value.runs if run is not None], dtype=np.float64)
    is_whole = known.size == len(value.runs)
    reason = "" if is_whole else value.measure.reason
    is_small = bool(known.size) and float(np.abs(known).max()) <= LARGEST
    spread = deviation(known) if is_whole and is_small else None
    bounds = (0.0, 1.0) if value.bounded else value.bounds
    interval = clip_interval(student_interval(known), bounds) if spread else None
    if is_whole and not interval:
        reason = "no interval: all runs gave the same value" if is_small else _TOO_LARGE
    return RepeatRow(
        task=result.task,
        model=result.model,
        scorer=value.scorer,
        metric=name,
        group=value.group,
        runs=len(value.runs),
        mean=plain_mean(known.tolist()) if is_whole else None,
        std=spread,
        min=float(known.min()) if is_whole else None,
        max=float(known.max()) if is_whole else None,
        **interval_fields(interval),
        values=list(value.runs),
        reason=reason,
    )


def agreement_rows(result: TaskModelResult, runs: int) -> Iterator[AgreementRow]:
    """Yield a row per score."""
    for agreement in result.finished.agreements:
        yield AgreementRow(
            task=result.task,
            model=result.model,
            scorer=agreement.scorer,
            score=agreement.score,
            agreement=agreement.mean,
            **interval_fields(agreement.interval),
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
            values=[(truncate(value, _LONGEST), runs) for value, runs in sample.values],
        )


class UsageTotal(Struct):
    """What one model was asked for."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    costs: "array[float]" = field(default_factory=lambda: array("d"))
    is_cost_known: bool = True

    def add(self, usage: Row | Usage) -> None:
        """Add one answer, or several."""
        self.requests += usage.requests
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        asked = usage.requests or usage.prompt_tokens or usage.completion_tokens
        if asked and usage.cost is None:
            self.is_cost_known = False
        elif usage.cost:
            self.costs.append(usage.cost)

    def row(self) -> UsageRow:
        """Return the sums; a cost that is unknown in part is unknown."""
        return UsageRow(
            requests=self.requests,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            total_tokens=self.prompt_tokens + self.completion_tokens,
            cost=math.fsum(self.costs) if self.is_cost_known else None,
        )


class Account(Struct):
    """What all models of a run were asked for."""

    answers: dict[str, UsageTotal] = field(default_factory=dict)
    beside: dict[str, UsageTotal] = field(default_factory=dict)

    def add_answer(self, model: str, usage: Row | Usage) -> None:
        """Add an answer that arrived."""
        if model not in self.answers:
            self.answers[model] = UsageTotal()
        self.answers[model].add(usage)

    def add_result(self, result: FinalResult) -> None:
        """Add what the samples of a task took that their rows do not say."""
        _add_all(self.answers, result.unanswered)
        _add_all(self.beside, result.others)

    def add_outcome(self, outcome: Outcome) -> None:
        """Add the same of a sample that no final result covers."""
        unanswered, others = split_usage(outcome)
        _add_all(self.answers, unanswered)
        _add_all(self.beside, others)


def _add_all(accounts: dict[str, UsageTotal], usages: Mapping[str, Usage]) -> None:
    for model, usage in usages.items():
        accounts.setdefault(model, UsageTotal()).add(usage)


def usage_rows(accounts: Mapping[str, UsageTotal]) -> dict[str, UsageRow]:
    """Return a row per model that has a name."""
    return {model: spent.row() for model, spent in accounts.items() if model}
