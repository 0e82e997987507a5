"""An evaluation of task documents to a Report.

The figures were made when the last sample of each task was in, and are kept with the run: a python
metric is the author's code, and a report that is only read again must not run it. Counts, usage and
failures come from the rows.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field

from evalwright._version import __version__
from evalwright.engine.finish import Finished, names_of
from evalwright.plan.documents import DocumentPlan
from evalwright.report.build import Facts, status_of, unfinished
from evalwright.report.failures import Kinds, count, failure_rows
from evalwright.report.report import (
    FailureRow,
    MetricRow,
    Report,
    RuleRow,
    Summary,
    UsageRow,
)
from evalwright.types import Outcome, Row, Usage


class Ended(Struct, frozen=True, kw_only=True):
    """One task with one model, and what came of it."""

    task: str
    model: str
    finished: Finished


class Spent(Struct):
    """What one model was asked for."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    costs: list[float] = field(default_factory=list)
    is_cost_known: bool = True


def build_evaluation_report(
    plan: DocumentPlan,
    rows: Iterable[Row],
    facts: Facts,
    *,
    ended: Sequence[Ended] | None,
    samples: Callable[..., Iterator[Outcome]],
) -> Report:
    """One frozen report of an evaluation; `ended` is None if what comes last was not done."""
    unended, ended = ended is None, ended or ()
    usage, kinds, landed, failed = _counted(rows)
    for one in ended:
        for model, more in one.finished.others.items():
            _spend(usage.setdefault(model, Spent()), more)
    broken = [
        FailureRow(
            model=one.model,
            stage=what.stage,
            type=what.failure.type,
            message=f"{one.task}: {what.failure.message}",
            hint=what.failure.hint,
            count=1,
            sample_ids=[],
        )
        for one in ended
        for what in one.finished.broken
    ]
    stopped = facts.stopped and (landed < plan.total or unended)
    return Report(
        run_id=facts.run_id,
        status=status_of(failed=failed + len(broken), stopped=stopped),
        models=[name for name in plan.models if name],
        tasks=[task.name for task in plan.tasks],
        metrics=[row for one in ended for row in _metrics(one)],
        leaderboard=[],
        pairwise=[],
        calibration={},
        perplexity={},
        usage={model: _usage(one) for model, one in usage.items() if model},
        summary=Summary(
            samples=landed,
            completed=landed - failed,
            reused=facts.reused,
            failed=failed,
            excluded=sum(one.finished.left_out for one in ended),
            wall_seconds=round(facts.wall_seconds, 3),
        ),
        failures=[*failure_rows(kinds, samples(failed=True) if failed else iter(())), *broken],
        left_out=[],
        rules=[
            RuleRow(task=one.task, model=one.model, rule=rule, excluded=count)
            for one in ended
            for rule, count in one.finished.excluded.items()
        ],
        code_execution=None,
        notes=[*facts.notes, *_unfinished(plan.total, landed, facts, unended=unended)],
        version=__version__,
        kind="evaluation",
        stored=samples,
    )


def _unfinished(total: int, landed: int, facts: Facts, *, unended: bool) -> Iterator[str]:
    """A note, if samples are missing, or what is made of all of them."""
    yield from unfinished(total, landed, facts)
    if unended and landed >= total:
        why = f" ({facts.stop_reason})" if facts.stop_reason else ""
        yield f"not finished{why}: all {total} samples, and no metrics; {facts.go_on}"


def _metrics(one: Ended) -> Iterator[MetricRow]:
    figures = one.finished.figures
    for name, figure in zip(names_of(figures), figures, strict=True):
        interval = figure.measure.interval
        yield MetricRow(
            task=one.task,
            model=one.model,
            scorer=figure.scorer,
            metric=name,
            value=figure.measure.value,
            ci_low=interval.low if interval else None,
            ci_high=interval.high if interval else None,
            interval=interval.method if interval else None,
            n=figure.measure.n,
            failed=figure.failed,
            excluded=one.finished.left_out,
            purpose="qa" if figure.purpose == "qa" else "score",
            reason=figure.measure.reason,
        )


def _counted(
    rows: Iterable[Row],
) -> tuple[dict[str, Spent], Kinds, int, int]:
    usage: dict[str, Spent] = {}
    kinds: Kinds = {}
    landed = failed = 0
    for row in rows:
        landed += 1
        if row.failure_type is not None:
            failed += 1
            count(kinds, row)
        if row.finish:
            _spend(usage.setdefault(row.model, Spent()), row)
    return usage, kinds, landed, failed


def _spend(spent: Spent, more: Row | Usage) -> None:
    spent.requests += more.requests
    spent.prompt_tokens += more.prompt_tokens
    spent.completion_tokens += more.completion_tokens
    if more.requests and more.cost is None:
        spent.is_cost_known = False
    elif more.cost:
        spent.costs.append(more.cost)


def _usage(spent: Spent) -> UsageRow:
    return UsageRow(
        requests=spent.requests,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        total_tokens=spent.prompt_tokens + spent.completion_tokens,
        cost=math.fsum(spent.costs) if spent.is_cost_known else None,
    )
