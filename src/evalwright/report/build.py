"""A run's rows to a Report.

A failed sample is in no mean. Models are ranked on the tasks that all of them completed; beside
it stands each model's own mean, and what it would be if every failure had counted 0 or 1.
A record with several trials is completed when all of them are; its score is their mean.
pass@k is over the completed records that run code or were tried more than once: a program passes
when all its targets do, which the mean, made of shares of targets, does not say.
The order in which outcomes landed changes nothing.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from evalwright._version import __version__
from evalwright.plan.plan import Plan, PlannedTask
from evalwright.report.asking import Asked
from evalwright.report.calibration import answers_in, calibration_of, perplexity_of
from evalwright.report.failures import failure_rows
from evalwright.report.fold import Column, Floats, Folded, fold
from evalwright.report.leaderboard import leaderboard, pairwise
from evalwright.report.report import (
    CodeExecution,
    LeftOutRow,
    MetricRow,
    Report,
    Status,
    Summary,
    UsageRow,
)
from evalwright.stats.interval import Interval
from evalwright.stats.mean import mean_interval
from evalwright.stats.pass_at_k import pass_at_k, pass_at_k_interval
from evalwright.types import Outcome, Row

SCORER = "record"
CODE = "code_exec"
_CONFIDENCES = "`-p logprobs=true`, if the model gives them, or `--confidence self`"
_KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""And the most that any record was tried."""


class Facts(Struct, frozen=True, kw_only=True):
    """What the rows do not say."""

    run_id: str
    wall_seconds: float
    reused: int = 0
    stopped: bool = False
    """Whether anything kept it from its end; a run whose samples have all landed is finished."""
    stop_reason: str = ""
    go_on: str = "the same command goes on"
    bins: int = 10
    seed: int = 0
    calibrate: bool = False
    """Whether a temperature is fitted to the confidences."""
    code_execution: CodeExecution | None = None
    notes: tuple[str, ...] = ()
    mcq: str = "letter"
    """How multiple choice of task records was answered."""
    confidence: str = "logprobs"
    """Where the confidences of task records are from."""


def build_report(
    plan: Plan,
    rows: Iterable[Row],
    facts: Facts,
    *,
    samples: Callable[..., Iterator[Outcome]],
) -> Report:
    """Fold the rows into one frozen report. `samples(failed=…)` gives the outcomes themselves."""
    folded = fold(plan, rows)
    columns = folded.columns
    scores = {model: column.means() for model, column in columns.items()}
    board = leaderboard(scores, folded.members(), seed=facts.seed)
    landed = sum(column.outcomes for column in columns.values())
    failed = sum(kind.count for kind in folded.failures.values())
    asked = Asked(mcq=facts.mcq, confidence=facts.confidence)
    asked.read(samples)
    return Report(
        run_id=facts.run_id,
        status=status_of(failed=failed, stopped=facts.stopped and landed < plan.total),
        models=list(plan.models),
        tasks=[task.name for task in plan.tasks],
        metrics=list(_metrics(plan, folded, seed=facts.seed)),
        leaderboard=board,
        pairwise=pairwise(scores, [row.model for row in board], seed=facts.seed),
        calibration={
            model: calibration_of(
                answers_in(one), bins=facts.bins, seed=facts.seed, calibrate=facts.calibrate
            )
            for model, one in columns.items()
        },
        perplexity={model: perplexity_of(column) for model, column in columns.items()},
        usage={model: _usage(column) for model, column in columns.items()},
        summary=Summary(
            samples=landed,
            completed=landed - failed,
            reused=facts.reused,
            failed=failed,
            excluded=sum(len(task.issues) for task in plan.tasks),
            wall_seconds=round(facts.wall_seconds, 3),
        ),
        failures=failure_rows(folded.failures, samples(failed=True) if failed else iter(())),
        left_out=_left_out(plan),
        rules=[],
        code_execution=facts.code_execution,
        notes=[
            *facts.notes,
            *asked.notes(folded),
            *_truncated(columns),
            *_not_calibrated(columns, facts),
            *unfinished(plan.total, landed, facts),
        ],
        version=__version__,
        kind="records",
        asked_beside=asked.beside(),
        stored=samples,
    )


def status_of(*, failed: int, stopped: bool) -> Status:
    """How a run ended."""
    if stopped:
        return "stopped"
    return "finished_with_failures" if failed else "finished"


def _metrics(plan: Plan, folded: Folded, *, seed: int) -> Iterable[MetricRow]:
    for task in plan.tasks:
        for model, column in folded.columns.items():
            yield from _metrics_of(task, model, column, folded=folded, seed=seed)


def _metrics_of(
    task: PlannedTask, model: str, column: Column, *, folded: Folded, seed: int
) -> Iterator[MetricRow]:
    place = folded.place(task)
    means = column.means()[place]
    done = ~np.isnan(means)
    failed = int((np.asarray(column.failed)[place] > 0).sum())
    tries = np.asarray(column.completed)[place]
    correct = np.asarray(column.correct)[place]
    counted = done & ((tries > 1) | folded.of_group(CODE)[place])
    attempts = list(zip(tries[counted].tolist(), correct[counted].tolist(), strict=True))
    for number in (_mean(means[done], seed=seed), *_pass_at_k(attempts, seed=seed)):
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
            failed=failed,
            excluded=len(task.issues),
            purpose="score",
            reason="",
            key=number.metric,
            name=number.metric,
        )


class Number(NamedTuple):
    """A metric, before it is known whose."""

    metric: str
    value: float | None
    interval: Interval | None
    n: int


def _mean(means: Floats, *, seed: int) -> Number:
    value = math.fsum(means) / len(means) if len(means) else None
    return Number("mean", value, mean_interval(means, seed=seed), len(means))


def _pass_at_k(attempts: Sequence[tuple[int, int]], *, seed: int) -> Iterator[Number]:
    """Of records as (tries, passes), at every usual k that some of them allow, and at the last."""
    most = max((n for n, _ in attempts), default=0)
    for k in sorted({*(k for k in _KS if k <= most), *([most] if most else [])}):
        able = [(n, c) for n, c in attempts if n >= k]
        value = math.fsum(pass_at_k(n, c, k) for n, c in able) / len(able)
        yield Number(f"pass@{k}", value, pass_at_k_interval(able, k, seed=seed), len(able))


def _usage(column: Column) -> UsageRow:
    """What arrived; a call that failed reported no usage, and if all did, no cost is known."""
    unknown = column.unknown_cost or not column.traces
    return UsageRow(
        requests=column.requests,
        prompt_tokens=column.prompt_tokens,
        completion_tokens=column.completion_tokens,
        total_tokens=column.prompt_tokens + column.completion_tokens,
        cost=None if unknown else math.fsum(column.costs),
    )


def unfinished(total: int, landed: int, facts: Facts, noun: str = "samples") -> Iterator[str]:
    """A note, if samples are missing."""
    if landed < total:
        why = f" ({facts.stop_reason})" if facts.stop_reason else ""
        yield f"not finished{why}: {landed} of {total} {noun}; {facts.go_on}"


def _truncated(columns: dict[str, Column]) -> Iterator[str]:
    for model, column in columns.items():
        if column.truncated:
            yield f"{model}: answers cut off at the token limit, and scored: {column.truncated}"


def _not_calibrated(columns: dict[str, Column], facts: Facts) -> Iterator[str]:
    """With `--calibrate`: who has not one confidence, and so no table to say it in."""
    if facts.calibrate:
        for model, column in columns.items():
            if not column.confidences:
                yield f"`--calibrate`: no answer of {model} has a confidence; {_CONFIDENCES}"


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
