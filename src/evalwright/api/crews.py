"""Who works on a task of a document, and what is done when its samples are in."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from evalwright.datasets.task_result import TaskResult
from evalwright.errors import BadDataset
from evalwright.nearest import nearest
from evalwright.plan.documents import Data, ml_task_of

if TYPE_CHECKING:
    from evalwright.engine.finish import Finishing, Measured
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
    return Finishing(
        run_scorers={
            one.key or one.type: one
            for one in definition.scorers
            if isinstance(one, PythonAllSamples)
        },
        rules=definition.actions or (),
        measured={one.key or one.type: measured_by(one) for one in definition.scorers},
        together=data.together,
        fans_out=bool(definition.solver and definition.solver.postprocessor),
    )


def measured_by(scorer: "ScorerSpec") -> "Measured":
    """The metrics of a scorer: its own, or those that scorers of its type have by default."""
    from evalwright.engine.finish import Measured

    metrics: list[tuple[str, Any]] = []
    if scorer.metrics is not None:
        metrics = [(one.key or one.type, one) for one in scorer.metrics]
    elif scorer.purpose == "score":
        several = len(scorer.default_metrics) > 1
        metrics = [
            (f"{kind}_{field}" if several else kind, _default(kind, field))
            for kind, field in scorer.default_metrics
        ]
    return Measured(purpose=scorer.purpose, metrics=tuple(metrics))


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
    """What a task specification has produced, in the newest run that has it.

    `here`: that is the run which is about to begin, so there is nothing to read yet.
    """

    def rows() -> "Iterator[dict[str, Any]]":
        kept = (here and here.store) or store
        run = _newest_with(key, kept, here.run_id if here else "")
        if run is None and here is None:
            raise _no_result(key, store)
        if run is None:
            return
        tasks = run.manifest["plan"]["tasks"]
        models = next(task.get("models", ()) for task in tasks if task["name"] == key)
        for model in models:
            prefix = f"{model}/" if len(models) > 1 else ""
            for outcome in kept.of_task(run.id, key, model):
                yield _row(outcome, prefix)

    return TaskResult(rows, digest=f"the result of {key}" if here else "")


def _no_result(key: str, store: "Store") -> BadDataset:
    known = [task["name"] for run in store.runs() for task in run.manifest["plan"]["tasks"]]
    close = nearest(key, list(dict.fromkeys(known)))
    return BadDataset(
        f"no task specification, of this run or an earlier one, is called `{key}`",
        hint=f"did you mean `{close}`?" if close else "",
    )


def _newest_with(key: str, store: "Store", run_id: str) -> "Run | None":
    for run in store.runs():
        if run_id in {"", run.id} and any(
            task["name"] == key for task in run.manifest["plan"]["tasks"]
        ):
            return run
    return None


def _row(outcome: "Outcome", prefix: str) -> dict[str, Any]:
    failure = outcome.failure
    return {
        "sample": outcome.sample,
        "sample_id": f"{prefix}{outcome.sample_id}",
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
