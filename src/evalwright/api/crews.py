"""Who works on a task of a document, and what is done when its samples are in."""

from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from evalwright.datasets.task_result import TaskResult
from evalwright.errors import BadDataset
from evalwright.nearest import nearest
from evalwright.plan.documents import Data, ml_task_of

if TYPE_CHECKING:
    from evalwright.engine.finish import Finishing, Measured, Trials
    from evalwright.engine.run import Team
    from evalwright.ports import Store
    from evalwright.scorers.base import ScorerSpec
    from evalwright.spec.documents.specs import ResolvedSpec
    from evalwright.types import Outcome, Run


def team_of(spec: "ResolvedSpec", called: Callable[[str], str]) -> "Team":
    """Solver, scorers and the models that they ask beside the evaluated one.

    `called` says under which name the crew has a model.
    """
    from evalwright.engine.run import Team
    from evalwright.scorers.evidence import KEY, Evidence
    from evalwright.scorers.python_all_samples import PythonAllSamples
    from evalwright.spec.documents.task import SystemTask

    definition = spec.task.definition
    if isinstance(definition, SystemTask):
        context = {"task": spec.task.key, "config": spec.values}
        return Team(scorers={KEY: Evidence(definition.compute_evidence_snippet, context)})
    scorers: dict[str, Any] = {
        one.key or one.type: one
        for one in definition.scorers
        if not isinstance(one, PythonAllSamples)
    }
    solver: Any = definition.solver
    return Team(
        solver=solver,
        scorers=scorers,
        postprocessor=solver.postprocessor if solver else None,
        others={name: called(name) for name in others_of(spec)},
        task=ml_task_of(spec.task.tasks),
        tallies=bool(others_of(spec)) or any(one.asks for one in definition.scorers),
        forgetful=spec.repeats > 1,
    )


def others_of(spec: "ResolvedSpec") -> tuple[str, ...]:
    """The models that a task names itself."""
    definition: Any = spec.task.definition
    parts = [getattr(definition, "solver", None), *getattr(definition, "scorers", ())]
    return tuple(dict.fromkeys(name for part in parts if part for name in part.model_keys))


def finishing_of(spec: "ResolvedSpec", data: Data) -> "Finishing":
    """What is done when the samples are in."""
    from evalwright.engine.finish import Finishing, Measured
    from evalwright.metrics.evidence import EvidenceMetric
    from evalwright.scorers.evidence import KEY
    from evalwright.scorers.python_all_samples import PythonAllSamples
    from evalwright.spec.documents.task import SystemTask

    definition = spec.task.definition
    if isinstance(definition, SystemTask):
        return Finishing(measured={KEY: Measured(metrics=((KEY, EvidenceMetric()),))})
    trials = trials_of(spec)
    return Finishing(
        run_scorers={
            one.key or one.type: one
            for one in definition.scorers
            if isinstance(one, PythonAllSamples)
        },
        rules=definition.actions or (),
        measured={one.key or one.type: measured_by(one, trials) for one in definition.scorers},
        together=data.together,
        fans_out=bool(definition.solver and definition.solver.postprocessor),
        trials=trials,
    )


def trials_of(spec: "ResolvedSpec") -> "Trials | None":
    """How the trials of a sample are brought together; None where each is tried once."""
    from evalwright.engine.finish import Aggregate, Trials

    told = getattr(spec.task.definition, "trials", None)
    if told is None and spec.num_trials * spec.repeats == 1:
        return None
    aggregates = [
        Aggregate(
            score=one.score_name,
            function=one.aggregator.function,
            k=one.aggregator.k or 0,
            names=names,
        )
        for one, names in (told.named() if told else ())
    ]
    return Trials(trials=spec.num_trials, repeats=spec.repeats, aggregates=tuple(aggregates))


def measured_by(scorer: "ScorerSpec", trials: "Trials | None" = None) -> "Measured":
    """The metrics of a scorer: its own, or those that scorers of its type have by default.

    What trials are brought together for is measured by default, too: who asks for pass@3 of a
    score wants to see it.
    """
    from evalwright.engine.finish import Measured

    metrics: list[tuple[str, Any]] = []
    own_keys: frozenset[str] = frozenset()
    if scorer.metrics is not None:
        metrics = [(str(one.key or one.type), one) for one in scorer.metrics]
        own_keys = frozenset(str(one.key) for one in scorer.metrics if one.own_key)
    elif scorer.purpose == "score":
        defaults = [*scorer.default_metrics]
        of = {field for kind, field in defaults if kind == "mean"}
        asked = [one.names[-1] for one in (trials.aggregates if trials else ()) if one.score in of]
        defaults += [("mean", name) for name in asked if name not in of]
        several = len(defaults) > 1
        metrics = [
            (f"{kind}_{field}" if several else kind, _default(kind, field))
            for kind, field in defaults
        ]
    return Measured(purpose=scorer.purpose, metrics=tuple(metrics), own_keys=own_keys)


@cache
def _default(kind: str, field: str) -> Any:
    from pydantic import TypeAdapter

    from evalwright.metrics.any import AnyMetric

    return TypeAdapter(AnyMetric).validate_python({"type": kind, "field": field})


class Here(Struct):
    """The run that is under way; none before it begins."""

    run_id: str = ""
    store: "Store | None" = None
    """Where it is kept, if not with the earlier ones."""


def result_of(key: str, *, store: "Store", here: Here | None = None) -> TaskResult:
    """What a task specification has produced, in the newest run that has it and came to its end.

    `here`: that is the run which is about to begin, so there is nothing to read yet.
    """

    def rows() -> "Iterator[dict[str, Any]]":
        kept = (here and here.store) or store
        run = newest_with(key, kept, here.run_id) if here else ended_with(key, kept)
        if run is None:
            return
        tasks = run.manifest["plan"]["tasks"]
        task = next(task for task in tasks if task["name"] == key)
        models = task.get("models", ())
        several = task.get("trials", 1) * task.get("repeats", 1) > 1
        for model in models:
            prefix = f"{model}/" if len(models) > 1 else ""
            for outcome in kept.of_task(run.id, key, model):
                suffix = f"#{outcome.trial + 1}" if several else ""
                yield _row(outcome, f"{prefix}{outcome.sample_id}{suffix}")

    return TaskResult(rows, digest=f"the result of {key}" if here else "")


ENDED = frozenset({"finished", "finished_with_failures"})
"""Statuses of runs whose results are whole."""


def ended_with(key: str, store: "Store") -> "Run":
    """The newest run that has a task specification and came to its end; `BadDataset` if none."""
    newest = newest_with(key, store)
    if newest is None:
        raise _no_result(key, store)
    found = newest if newest.status in ENDED else newest_with(key, store, ended=ENDED)
    if found is None:
        raise BadDataset(
            f"the result of `{key}` is not whole: run {newest.id} is {newest.status}",
            hint="it was imported so: its log is of a run that did not come to its end"
            if newest.manifest.get("imported")
            else "go on with that run until it is finished: the command that began it does so",
        )
    return found


def result_note(key: str, store: "Store") -> str:
    """For a report: of which run a result is that its rows are made of."""
    run = ended_with(key, store)
    rows = [row for row in store.rows(run.id) if row.task == key]
    failed = sum(row.failure_type is not None for row in rows)
    part = f"; {failed:,} of its {len(rows):,} samples failed" if failed else ""
    newest = newest_with(key, store)
    later = "" if newest is None or newest.id == run.id else f", as {newest.id} is {newest.status}"
    return f"the result of `{key}` that is read here is that of run {run.id}{later}{part}"


def _no_result(key: str, store: "Store") -> BadDataset:
    known = [task["name"] for run in store.runs() for task in run.manifest["plan"]["tasks"]]
    close = nearest(key, list(dict.fromkeys(known)))
    return BadDataset(
        f"no task specification, of this run or an earlier one, is called `{key}`",
        hint=f"did you mean `{close}`?" if close else "",
    )


def newest_with(
    key: str, store: "Store", run_id: str = "", *, ended: Collection[str] = ()
) -> "Run | None":
    """The newest run that has a task of this name, or the one that is meant, if it has.

    `ended`: of those that have one of these statuses.
    """
    for run in store.runs():
        told = run_id in {"", run.id} and (not ended or run.status in ended)
        if told and any(task["name"] == key for task in run.manifest["plan"]["tasks"]):
            return run
    return None


def _row(outcome: "Outcome", id_: str) -> dict[str, Any]:
    failure = outcome.failure
    return {
        "sample": outcome.sample,
        "sample_id": id_,
        "solver_output": _seen(outcome.trace.conversation) if outcome.trace else None,
        "scores": {
            name: {"values": score.values, "metadata": score.metadata}
            for name, score in outcome.scores.items()
        },
        "errors": [{"stage": failure.stage, "error_type": failure.type, "message": failure.message}]
        if failure
        else [],
    }


def _seen(conversation: dict[str, Any]) -> dict[str, Any]:
    """A conversation with the old views in it, for those who read it as plain data."""
    from evalwright.objects import SolverTrace

    solved = SolverTrace.from_json(conversation)
    items = conversation.get("items", [])
    outputs = conversation.get("raw_outputs") or []
    said = [{"role": one.role, "content": str(one.content)} for one in solved.messages]
    output = outputs[-1] if outputs else None
    return {**conversation, "trace": {"items": items}, "messages": said, "output": output}
