"""The headline of a run: its primary metrics and its cost, kept with the run for `list`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from evalwright.plan.outline import PlanOutline

if TYPE_CHECKING:  # a list of runs needs no statistics
    from evalwright.report.report import ReportBody


class HeadlineMetric(Struct, frozen=True):
    """The primary metric of one task and one model, with its interval."""

    task: str
    """Empty where it is over all tasks together."""
    model: str
    metric: str
    value: float | None
    ci_low: float | None
    ci_high: float | None


class Headline(Struct, frozen=True, kw_only=True):
    """What a list says about the results of a run."""

    metrics: list[HeadlineMetric] = []
    cost: float | None = None
    """In dollars, with judges and other models; None where a price is not known."""


def make_headline(report: "ReportBody", plan: PlanOutline) -> Headline:
    """Return the headline of a report."""
    costs = [row.cost for row in (*report.usage.values(), *report.asked_beside.values())]
    cost = None if None in costs else sum(cost or 0.0 for cost in costs)
    return Headline(metrics=list(_primary_metrics(report, plan)), cost=cost)


def _primary_metrics(report: "ReportBody", plan: PlanOutline) -> Iterator[HeadlineMetric]:
    if plan.ranking == "all_tasks":
        for rank in report.leaderboard:
            yield HeadlineMetric("", rank.model, "mean", rank.mean, rank.ci_low, rank.ci_high)
        return
    for task in plan.tasks:
        rows = [
            row
            for row in report.metrics
            if row.task == task.name and row.purpose == "score" and row.group is None
        ]
        first = (rows[0].scorer, rows[0].metric) if rows else None
        primary = (task.primary.scorer, task.primary.metric) if task.primary else first
        for row in rows:
            if (row.scorer, row.metric) == primary:
                interval = row.ci_low, row.ci_high
                yield HeadlineMetric(row.task, row.model, row.metric, row.value, *interval)
