"""Outcomes and reports made by hand, for the tests of this folder."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from evalwright.engine.finalize import finalize_task
from evalwright.engine.results import FinalResult, TaskModelResult, TaskOutcomes
from evalwright.metrics.mean import Mean
from evalwright.plan.finalization import Finalization, ScorerMetrics, TrialPlan
from evalwright.plan.outline import PlanOutline, PrimaryMetric, TaskOutline
from evalwright.ports import Store
from evalwright.report.build import ReportFacts, build_report
from evalwright.report.fold import RunFold, fold_rows
from evalwright.report.report import Report
from evalwright.store.memory import MemoryStore
from evalwright.store.scalars import row_of
from evalwright.types import Failure, Finish, Issue, Outcome, Run, Score, Trace, Usage

RUN = "20261115-120000-abcd"

ANSWERED = Usage(requests=1, prompt_tokens=5, completion_tokens=1)
FAILURE = Failure(stage="solver", type="TimeoutError", message="no answer in 60 s", hint="wait")


def outcome(  # noqa: PLR0913 - one parameter a fact
    model: str,
    sample_id: str,
    score: float | None,
    *,
    task: str = "tasks",
    trial: int = 0,
    group: str = "arithmetic",
    correct: bool | None = None,
    logprob: float | None = None,
    usage: Usage | None = None,
    finish: Finish = "stop",
    failure: Failure = FAILURE,
) -> Outcome:
    """One outcome; without a score it is a failure. `correct` is, if not given, full marks."""
    if score is None:
        return Outcome(
            task=task, model=model, sample_id=sample_id, trial=trial, group=group, failure=failure
        )
    right = score >= 1 if correct is None else correct
    return Outcome(
        task=task,
        model=model,
        sample_id=sample_id,
        trial=trial,
        group=group,
        trace=_trace(logprob, usage or ANSWERED, finish),
        scores={"record": Score(values={"score": score}, correct=right)},
    )


def report_of(
    outcomes: Sequence[Outcome],
    *,
    models: Sequence[str] | None = None,
    issues: Sequence[Issue] = (),
    unfinished: int = 0,
    tries: int = 1,
    **facts: Any,
) -> Report:
    """The report on outcomes of every record that they name, and of as many that have not landed.

    They go through a store, as those of a run do. A record is planned to have `tries`.
    """
    plan = plan_of(outcomes, models=models, issues=issues, unfinished=unfinished, tries=tries)
    store = stored(outcomes)
    known = ReportFacts(**{"run_id": RUN, "wall_seconds": 1.5, **facts})
    samples = partial(store.outcomes, RUN)
    return build_report(plan, store.rows(RUN), known, results=None, samples=samples)


METRIC = PrimaryMetric(scorer="exact", field="is_correct", metric="is_correct_mean")


def answer(  # noqa: PLR0913 - one parameter per fact
    model: str,
    ordinal: int,
    value: Any = True,  # noqa: FBT002 - the score
    *,
    task: str = "qa",
    trial: int = 0,
    correct: bool | None = None,
    category: Any = None,
    **fields: Any,
) -> Outcome:
    """One outcome of a finalized task; without a value it is a failure."""
    sample = {} if category is None else {"category": category}
    common = {"task": task, "model": model, "sample_id": f"{ordinal:03}", "ordinal": ordinal}
    if value is None:
        known: dict[str, Any] = {"failure": FAILURE}
    else:
        is_right = value if isinstance(value, bool) else correct
        score = Score(values={"is_correct": value}, correct=is_right)
        known = {"trace": _trace(None, ANSWERED, "stop"), "scores": {"exact": score}}
    return Outcome(**{**common, "trial": trial, "sample": sample, **known, **fields})


def finalized_report(
    outcomes: Sequence[Outcome],
    *tasks: TaskOutline,
    results: Sequence[TaskModelResult] | None = (),
    **facts: Any,
) -> Report:
    """The report on outcomes of finalized tasks; without a result, a task has an empty one."""
    planned = tasks or (task_of(outcomes),)
    known = {(result.task, result.model): result for result in results or ()}
    whole = [
        known.get(
            (task.name, model), TaskModelResult(task=task.name, model=model, finished=FinalResult())
        )
        for task in planned
        for model in task.models
    ]

    def samples(*, failed: bool | None = None) -> Iterator[Outcome]:
        ordered = sorted(outcomes, key=lambda one: (one.task, one.ordinal, one.trial, one.model))
        return (one for one in ordered if failed in {None, one.failure is not None})

    models = dict.fromkeys(model for task in planned for model in task.models)
    return build_report(
        PlanOutline(tasks=planned, models=tuple(models)),
        map(row_of, samples()),
        ReportFacts(**{"run_id": RUN, "wall_seconds": 1.5, **facts}),
        results=None if results is None else whole,
        samples=samples,
    )


def task_of(outcomes: Sequence[Outcome], name: str = "qa", **fields: Any) -> TaskOutline:
    """A finalized task that these are the outcomes of."""
    own = [one for one in outcomes if one.task == name]
    known = {
        "models": tuple(dict.fromkeys(one.model for one in own)),
        "records": len({one.ordinal for one in own}),
        "primary": METRIC,
        "finalized": True,
    }
    return TaskOutline(name=name, task_key=name, **{**known, **fields})


def finalize(outcomes: Sequence[Outcome], task: TaskOutline) -> list[TaskModelResult]:
    """The results of a task whose only metric is the primary one."""
    metric = Mean(type="mean", field=METRIC.field)
    trials = TrialPlan(trials=task.trials, repeats=task.repeats) if task.tries > 1 else None
    plan = Finalization(
        measured={METRIC.scorer: ScorerMetrics(metrics=(("mean", metric),))}, trials=trials
    )

    def result_of(model: str) -> TaskModelResult:
        own = [one for one in outcomes if (one.task, one.model) == (task.name, model)]
        ordered = sorted(own, key=lambda one: (one.ordinal, one.trial))
        landed = TaskOutcomes(outcomes=lambda: iter(ordered), write=lambda _: None)
        finished = asyncio.run(finalize_task(plan, landed, None))
        return TaskModelResult(task=task.name, model=model, finished=finished)

    return [result_of(model) for model in task.models]


def folded(outcomes: Sequence[Outcome], *, models: Sequence[str] | None = None) -> RunFold:
    """The columns of the same."""
    return fold_rows(plan_of(outcomes, models=models), stored(outcomes).rows(RUN))


def stored(outcomes: Sequence[Outcome]) -> Store:
    """A store with a run of these; the records of a task lie in it in the order of their ids."""
    store = MemoryStore()
    store.begin(Run(id=RUN, created="", updated="", status="running", plan_key=""))
    ids = {one.task: sorted(_records(outcomes, one.task)) for one in outcomes}
    store.append(
        RUN,
        [structs.replace(one, ordinal=ids[one.task].index(one.sample_id)) for one in outcomes],
    )
    return store


def plan_of(
    outcomes: Sequence[Outcome],
    *,
    models: Sequence[str] | None = None,
    issues: Sequence[Issue] = (),
    unfinished: int = 0,
    tries: int = 1,
) -> PlanOutline:
    """A plan that these are the outcomes of, or the first ones."""
    evaluated = tuple(models or dict.fromkeys(one.model for one in outcomes))
    tasks = tuple(
        TaskOutline(
            name=name,
            path=f"{name}.jsonl",
            models=evaluated,
            records=len(_records(outcomes, name)) + unfinished,
            landed=len({(one.sample_id, one.trial) for one in outcomes if one.task == name})
            + unfinished,
            trials=tries,
            issues=tuple(issues),
            primary=PrimaryMetric(scorer="record", field="score", metric="mean"),
        )
        for name in sorted({one.task for one in outcomes})
    )
    return PlanOutline(tasks=tasks, models=evaluated, ranking="all_tasks")


def _records(outcomes: Sequence[Outcome], task: str) -> set[str]:
    return {one.sample_id for one in outcomes if one.task == task}


def _trace(logprob: float | None, usage: Usage, finish: Finish) -> Trace:
    from math import exp

    return Trace(
        input="2 + 2",
        output="4",
        post_processed="4",
        usage=usage,
        finish=finish,
        nll=None if logprob is None else -logprob,
        nll_tokens=0 if logprob is None else 1,
        confidence=None if logprob is None else exp(logprob),
    )
