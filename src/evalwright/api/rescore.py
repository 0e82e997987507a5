"""Score a run of a project again: its stored answers, its tasks as they are now.

No evaluated model is asked: an answer that is not stored is a failure of its sample. The models
that scorers name (judges, embeddings) are asked where a scorer, a row or an answer has changed, and
where there was no verdict: a score that is stored under the same key is taken as it is.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs, to_builtins

from evalwright.api.evaluate import DocumentWork
from evalwright.api.located import at, folder_of, refuse_others
from evalwright.api.manifest import Told, told_to
from evalwright.api.prepare import prepare
from evalwright.engine.clean import cleaned_value
from evalwright.errors import UsageError
from evalwright.plan.documents import NO_MODEL

if TYPE_CHECKING:
    from contextlib import ExitStack

    from evalwright.api.options import RunOptions, Watch
    from evalwright.engine.run import Crew, Team
    from evalwright.ports import Case, Model, Solver, Store
    from evalwright.report.report import Report
    from evalwright.types import Run, Sample, Trace

_ANSWERS = "answers"
"""Where the manifest keeps who has answered: a model may judge now that has changed since."""
_WHY = (
    "the scorer asks the evaluated model itself, and `score` asks none: name the model with "
    "`model_key`, or use `evalwright run`"
)


def rescore(parent: "Run", store: "Store", options: "RunOptions", watch: "Watch") -> "Report":
    """A new run, which names `parent`; what its command was told holds here, too."""
    known = parent.manifest
    if "imported" in known:
        raise UsageError(
            f"run {parent.id} was imported: there is no project to score it with",
            hint="a project whose specification names the log may read it as a `task_result`",
        )
    told, folder = told_to(parent), folder_of(parent)
    if options.env:
        told = structs.replace(told, env=tuple(str(Path(one).absolute()) for one in options.env))
    options = structs.replace(
        options,
        parameters=known.get("parameters", {}),
        limit=known["plan"].get("limit"),
        settings=told.settings,
        evaluation=told.evaluation,
        config=at(folder, told.config) if told.config else None,
        env=tuple(at(folder, one) for one in told.env),
        trials=told.trials,
    )
    path = at(folder, known["plan"]["path"])
    prepared = prepare(path, told.models, options, store=store, tell=watch.tell)
    refuse_others(parent, prepared.plan.tasks, path)
    live = [task for task in prepared.plan.tasks if task.name not in prepared.recorded]
    _refuse_others(parent, [name for task in live for name in task.models])
    # What is kept, and shown, is what the person typed.
    plan = structs.replace(prepared.plan, path=known["plan"]["path"])
    prepared = structs.replace(prepared, plan=plan)
    work = RescoringWork(prepared, store, options, watch=watch, parent=parent)
    work.told, work.folder = told, str(folder)
    return work.report()


def _refuse_others(parent: "Run", models: Iterable[str]) -> None:
    """Of a model that the run did not ask, there is nothing to score."""
    asked = parent.manifest["plan"]["models"]
    for name in models:
        if name != NO_MODEL and name not in asked:
            there = ", ".join(f"`{one}`" for one in asked if one) or "none"
            raise UsageError(
                f"run {parent.id} has no answers of `{name}`, which the project names now; "
                f"it has those of {there}",
                hint="`evalwright run` asks it, and scores everything as the project is now",
            )


class RescoringWork(DocumentWork):
    """The specifications of an evaluation, with the answers of an earlier run."""

    told: Told = Told()
    """What the command of the run has said."""

    def _crew(self, ending: "ExitStack") -> "Crew":
        crew = super()._crew(ending)
        stand_ins = self._stand_ins()
        known = self.parent.manifest if self.parent else {}
        return structs.replace(
            crew,
            models={**stand_ins, **crew.models},
            answering=stand_ins,
            teams={name: _stored(team) for name, team in crew.teams.items()},
            by_sample=crew.by_sample.union(known.get("by_sample", ())),
        )

    def _manifest(self, crew: "Crew") -> dict[str, Any]:
        manifest = super()._manifest(crew)
        paths = {
            name: value
            for name, value in to_builtins(self.told).items()
            if name in {"config", "env"}
        }
        manifest["told"] |= cleaned_value(paths, self.redactor)  # as they were typed
        return {**manifest, _ANSWERS: self._answered()}

    def _asked(self) -> list[str]:
        """Those that scorers name: a model that nobody asks needs no key."""
        judges = {
            team.others[key]
            for team in self.prepared.teams.values()
            for scorer in team.scorers.values()
            for key in getattr(scorer, "model_keys", ())
        }
        known = self._answered()
        return [name for name in self.prepared.models if name in judges or name not in known]

    def _answered(self) -> dict[str, str]:
        """The fingerprints of the models that have answered: with them the answers are found.

        A model of which only a result log tells was never asked, and has none.
        """
        known = self.parent.manifest if self.parent else {}
        return {**known.get("models", {}), **known.get(_ANSWERS, {})}

    def _stand_ins(self) -> "dict[str, Model]":
        from evalwright.clients.unasked import Unasked

        return {name: Unasked(mark, _WHY) for name, mark in self._answered().items()}

    def _clients(self) -> "dict[str, Model]":
        stand_ins = self._stand_ins()
        own = {name: stand_ins[name] for name in self.plan.models if name in stand_ins}
        return {**own, **super()._clients()}


def _stored(team: "Team") -> "Team":
    team = structs.replace(team, forgetful=False)  # of several runs, the answers are stored, too
    solver: Any = team.solver
    if solver is None or not (solver.asks or solver.model_keys):
        return team
    return structs.replace(team, solver=Stored(solver))


class Stored:
    """A solver whose answers are stored, or are not: it asks nobody."""

    def __init__(self, solver: "Solver") -> None:
        self._solver = solver
        self.name, self.version = solver.name, solver.version
        self.model_keys: tuple[str, ...] = getattr(solver, "model_keys", ())
        """Part of the key under which an answer is stored."""

    def reads(self, sample: "Sample") -> str:
        """What the solver itself reads."""
        return self._solver.reads(sample)

    def revised(self, sample: "Sample", trace: "Trace") -> "Trace":
        """What the solver itself would make of it."""
        return self._solver.revised(sample, trace)

    async def solve(self, case: "Case") -> "Trace":
        """Nothing is stored under this key."""
        raise LookupError(
            f"no answer is stored for {case.sample.id!r} as its task and its row are now, and "
            "`score` asks no evaluated model: `evalwright run` does"
        )
