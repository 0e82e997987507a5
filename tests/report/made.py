"""Outcomes and reports made by hand, for the tests of this folder."""

from collections.abc import Sequence

from evalwright.plan.plan import Plan, PlannedTask
from evalwright.report.build import Facts, build_report
from evalwright.report.report import CodeExecution, Report
from evalwright.types import Failure, Issue, Outcome, Score, Trace, Usage

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
        trace=_trace(logprob, usage or Usage(requests=1, prompt_tokens=5, completion_tokens=1)),
        scores={"record": Score(values={"score": score}, correct=right)},
    )


def report_of(
    outcomes: Sequence[Outcome],
    *,
    models: Sequence[str] | None = None,
    issues: Sequence[Issue] = (),
    bins: int = 10,
    code_execution: CodeExecution | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """The report on outcomes of every record that they name."""
    names = sorted({one.task for one in outcomes})
    tasks = tuple(
        _planned(name, [one for one in outcomes if one.task == name], tuple(issues))
        for name in names
    )
    who = models or list(dict.fromkeys(one.model for one in outcomes))
    facts = Facts(
        run_id="20261115-120000-abcd",
        wall_seconds=1.5,
        bins=bins,
        code_execution=code_execution,
        notes=tuple(notes),
    )
    return build_report(Plan(tasks=tasks, models=tuple(who)), outcomes, facts)


def _planned(name: str, outcomes: Sequence[Outcome], issues: tuple[Issue, ...]) -> PlannedTask:
    records = {one.sample_id for one in outcomes}
    trials = {(one.sample_id, one.trial) for one in outcomes}
    return PlannedTask(
        name=name,
        path=f"{name}.jsonl",
        records=len(records),
        code_exec=0,
        trials=len(trials),
        issues=issues,
    )


def _trace(logprob: float | None, usage: Usage) -> Trace:
    from math import exp

    return Trace(
        input="2 + 2",
        output="4",
        post_processed="4",
        usage=usage,
        nll=None if logprob is None else -logprob,
        nll_tokens=0 if logprob is None else 1,
        confidence=None if logprob is None else exp(logprob),
    )
