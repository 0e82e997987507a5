"""Score the stored answers of a run again.

No evaluated model is queried: an answer that is not stored is a failure of its sample. The models
that scorers name (judges, embeddings) are queried if a scorer, a sample or an answer has changed,
or if there was no verdict: a score that is stored under the same key is reused.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from evalwright.clients.stand_ins import StoredModel
from evalwright.errors import UsageError
from evalwright.plan.manifest import read_manifest
from evalwright.plan.options import RunOptions
from evalwright.plan.outline import NO_MODEL
from evalwright.plan.plan import Plan, TaskPlan
from evalwright.ports import Case, Solver
from evalwright.session.session import Rescoring
from evalwright.types import Run, Sample, Trace

_ASKS_EVALUATED_MODEL = (
    "the scorer queries the evaluated model, which `score` does not: name the model with "
    "`model_key`, or use `evalwright run`"
)


def prepare_rescoring(plan: Plan, parent: Run) -> tuple[Plan, Rescoring]:
    """Return the plan with solvers that only look up answers, and stand-ins for the models.

    A model that is known only from a result log was never queried, and has no stand-in.
    """
    manifest = read_manifest(parent)
    live = [task for task in plan.tasks if not task.recorded]
    _refuse_new_models(parent, [name for task in live for name in task.outline.models])
    fingerprints = {**manifest.models, **manifest.answers}
    stand_ins = {
        name: StoredModel(fingerprint, _ASKS_EVALUATED_MODEL)
        for name, fingerprint in fingerprints.items()
    }
    tasks = tuple(_only_stored_answers(task) for task in plan.tasks)
    return structs.replace(plan, tasks=tasks), Rescoring(parent=parent, stand_ins=stand_ins)


def restore_modes(options: RunOptions, parent: Run) -> RunOptions:
    """Return the options with the modes, parameters and limit of the run that is scored."""
    manifest = read_manifest(parent)
    modes: dict[str, Any] = {"mcq": manifest.mcq, "confidence": manifest.confidence}
    return structs.replace(
        options,
        **modes,
        parameters=manifest.parameters,
        limit=manifest.plan.limit,
        trials=manifest.plan.trials or manifest.command.trials,
    )


def _refuse_new_models(parent: Run, models: Iterable[str]) -> None:
    asked = read_manifest(parent).plan.models
    for name in models:
        if name != NO_MODEL and name not in asked:
            known = ", ".join(f"`{model}`" for model in asked if model) or "none"
            raise UsageError(
                f"run {parent.id} has no answers from `{name}`, which the project now names; it "
                f"has answers from {known}",
                hint="`evalwright run` queries it, and scores everything with the current project",
            )


def _only_stored_answers(task: TaskPlan) -> TaskPlan:
    solver: Any = task.runtime.solver
    asks = getattr(solver, "calls_model", True) or getattr(solver, "model_keys", ())
    if solver is not None and asks:
        solver = StoredSolver(solver)
    runtime = structs.replace(task.runtime, ignores_memory=False, solver=solver)
    return structs.replace(task, runtime=runtime)


class StoredSolver:
    """A solver that only uses stored answers."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self.name, self.version = solver.name, solver.version
        self.model_keys: tuple[str, ...] = getattr(solver, "model_keys", ())
        """Part of the key under which an answer is stored."""

    def describe_inputs(self, sample: Sample) -> str:
        """Return what the original solver reads."""
        return self._solver.describe_inputs(sample)

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """Return what the original solver would make of it."""
        return self._solver.reuse(sample, trace)

    async def solve(self, case: Case) -> Trace:
        """Fail: nothing is stored under this key."""
        raise LookupError(
            f"no answer is stored for {case.sample.id!r} with its current task and row, and "
            "`score` queries no models: use `evalwright run`"
        )
