"""Outcomes and reports made by hand, for the tests of this folder."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import structs

from evalwright.plan.plan import Plan, PlannedTask
from evalwright.ports import Store
from evalwright.report.build import Facts, build_report
from evalwright.report.fold import Folded, fold
from evalwright.report.report import Report
from evalwright.store.memory import MemoryStore
from evalwright.types import Failure, Finish, Issue, Outcome, Run, Score, Trace, Usage

RUN = "20261115-120000-abcd"

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
        trace=_trace(
            logprob, usage or Usage(requests=1, prompt_tokens=5, completion_tokens=1), finish
        ),
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
    known = Facts(**{"run_id": RUN, "wall_seconds": 1.5, **facts})
    return build_report(plan, store.rows(RUN), known, samples=partial(store.outcomes, RUN))


def folded(outcomes: Sequence[Outcome], *, models: Sequence[str] | None = None) -> Folded:
    """The columns of the same."""
    return fold(plan_of(outcomes, models=models), stored(outcomes).rows(RUN))


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
) -> Plan:
    """A plan that these are the outcomes of, or the first ones."""
    names = sorted({one.task for one in outcomes})
    tasks = tuple(
        PlannedTask(
            name=name,
            path=f"{name}.jsonl",
            records=len(_records(outcomes, name)) + unfinished,
            code_exec=0,
            trials=len({(one.sample_id, one.trial) for one in outcomes if one.task == name})
            + unfinished,
            tries=((len(_records(outcomes, name)) + unfinished, tries),),
            issues=tuple(issues),
        )
        for name in names
    )
    return Plan(tasks=tasks, models=tuple(models or dict.fromkeys(one.model for one in outcomes)))


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
