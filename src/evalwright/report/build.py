"""Outcomes to a Report.

A failed sample is in no mean. Models are ranked on the tasks that all of them completed; beside
it stands each model's own mean, and what it would be if every failure had counted 0 or 1.
A record with several trials is completed when all of them are; its score is their mean.
The order in which outcomes landed changes nothing but `Report.samples()`.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from evalwright._version import __version__
from evalwright.plan.plan import Plan
from evalwright.report.calibration import calibration_of, perplexity_of
from evalwright.report.leaderboard import Completed, leaderboard, pairwise
from evalwright.report.report import (
    CodeExecution,
    FailureRow,
    LeftOutRow,
    MetricRow,
    Report,
    Summary,
    UsageRow,
)
from evalwright.stats.interval import Interval
from evalwright.stats.mean import mean_interval
from evalwright.stats.pass_at_k import pass_at_k, pass_at_k_interval
from evalwright.types import Outcome

SCORER, VALUE = "record", "score"
_SHOWN_IDS = 5
_KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Facts(Struct, frozen=True, kw_only=True):
    """What the outcomes do not say."""

    run_id: str
    wall_seconds: float
    bins: int = 10
    seed: int = 0
    code_execution: CodeExecution | None = None
    notes: tuple[str, ...] = ()


class Tried(Struct):
    """The trials of one record by one model, as they add up."""

    group: str = ""
    scores: list[float] = []
    correct: int = 0
    failed: int = 0


Table = dict[str, dict[tuple[str, str], Tried]]
"""model → (task, sample id) → its trials."""


def build_report(plan: Plan, outcomes: Sequence[Outcome], facts: Facts) -> Report:
    """Fold the outcomes into one frozen report."""
    ordered = sorted(outcomes, key=lambda one: (one.task, one.sample_id, one.trial))
    by_model = {model: [one for one in ordered if one.model == model] for model in plan.models}
    table: Table = {model: _tried(by_model[model]) for model in plan.models}
    failed = sum(outcome.failure is not None for outcome in outcomes)
    excluded = sum(len(task.issues) for task in plan.tasks)
    scores = {model: _completed(rows) for model, rows in table.items()}
    total = sum(task.records for task in plan.tasks)
    board = leaderboard(scores, total=total, seed=facts.seed)
    return Report(
        run_id=facts.run_id,
        status="finished_with_failures" if failed else "finished",
        models=list(plan.models),
        tasks=[task.name for task in plan.tasks],
        metrics=list(_metrics(plan, table, seed=facts.seed)),
        leaderboard=board,
        pairwise=pairwise(scores, [row.model for row in board], seed=facts.seed),
        calibration={
            model: calibration_of(rows, bins=facts.bins) for model, rows in by_model.items()
        },
        perplexity={model: perplexity_of(rows) for model, rows in by_model.items()},
        usage={model: _usage(rows) for model, rows in by_model.items()},
        summary=Summary(
            samples=len(outcomes),
            completed=len(outcomes) - failed,
            reused=0,
            failed=failed,
            excluded=excluded,
            wall_seconds=round(facts.wall_seconds, 3),
        ),
        failures=_failures(ordered),
        left_out=_left_out(plan),
        code_execution=facts.code_execution,
        notes=list(facts.notes),
        version=__version__,
        outcomes=list(outcomes),
    )


def _tried(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], Tried]:
    tried: dict[tuple[str, str], Tried] = {}
    for outcome in outcomes:
        row = tried.setdefault((outcome.task, outcome.sample_id), Tried(group=outcome.group))
        if outcome.failure:
            row.failed += 1
        else:
            score = outcome.scores[SCORER]
            row.scores.append(score.values[VALUE])
            row.correct += bool(score.correct)
    return tried


def _completed(rows: dict[tuple[str, str], Tried]) -> Completed:
    """Each completed record's category and mean score over its trials."""
    return {
        key: (row.group, math.fsum(row.scores) / len(row.scores))
        for key, row in sorted(rows.items())
        if not row.failed
    }


def _metrics(plan: Plan, table: Table, *, seed: int) -> Iterable[MetricRow]:
    for task in plan.tasks:
        for model, all_rows in table.items():
            rows = [row for (name, _), row in all_rows.items() if name == task.name]
            done = [row for row in rows if not row.failed]
            means = [math.fsum(row.scores) / len(row.scores) for row in done]
            tries = [(len(row.scores), row.correct) for row in done]
            for number in (_mean(means, seed=seed), *_pass_at_k(tries, seed=seed)):
                yield MetricRow(
                    task=task.name,
                    model=model,
                    scorer=SCORER,
                    metric=number.metric,
                    value=number.value,
                    ci_low=number.interval.low if number.interval else None,
                    ci_high=number.interval.high if number.interval else None,
                    interval=number.interval.method if number.interval else None,
                    n=number.n,
                    failed=len(rows) - len(done),
                    excluded=len(task.issues),
                )


class Number(NamedTuple):
    """A metric, before it is known whose."""

    metric: str
    value: float | None
    interval: Interval | None
    n: int


def _mean(means: Sequence[float], *, seed: int) -> Number:
    value = math.fsum(means) / len(means) if means else None
    return Number("mean", value, mean_interval(means, seed=seed), len(means))


def _pass_at_k(tries: Sequence[tuple[int, int]], *, seed: int) -> Iterator[Number]:
    """For the records that were tried more than once, at every k that some of them allow."""
    several = [(n, c) for n, c in tries if n > 1]
    for k in _KS:
        if able := [(n, c) for n, c in several if n >= k]:
            value = math.fsum(pass_at_k(n, c, k) for n, c in able) / len(able)
            yield Number(f"pass@{k}", value, pass_at_k_interval(able, k, seed=seed), len(able))


def _usage(outcomes: Iterable[Outcome]) -> UsageRow:
    """What arrived; a call that failed reported no usage, and if all did, no cost is known."""
    used = [outcome.trace.usage for outcome in outcomes if outcome.trace]
    costs = [usage.cost for usage in used if usage.requests]
    return UsageRow(
        requests=sum(usage.requests for usage in used),
        prompt_tokens=sum(usage.prompt_tokens for usage in used),
        completion_tokens=sum(usage.completion_tokens for usage in used),
        total_tokens=sum(usage.total_tokens for usage in used),
        cost=None if None in costs or not used else math.fsum(cost for cost in costs if cost),
    )


def _failures(outcomes: Iterable[Outcome]) -> list[FailureRow]:
    kinds: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.failure:
            kinds[outcome.model, outcome.failure.stage, outcome.failure.type].append(outcome)
    return [
        FailureRow(
            model=model,
            stage=stage,
            type=kind,
            message=first.message,
            hint=first.hint,
            count=len(rows),
            sample_ids=[row.sample_id for row in rows[:_SHOWN_IDS]],
        )
        for (model, stage, kind), rows in sorted(kinds.items())
        if (first := rows[0].failure)
    ]


def _left_out(plan: Plan) -> list[LeftOutRow]:
    return [
        LeftOutRow(
            file=task.path,
            line=issue.line,
            rule=issue.rule,
            field=issue.field,
            task_id=issue.task_id,
            detail=issue.detail,
        )
        for task in plan.tasks
        for issue in task.issues
    ]
