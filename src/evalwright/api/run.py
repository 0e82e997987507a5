"""Begin a run, or go on with one, and report.

The same plan in the same store is the same run: what it has done is not done again. Another plan
is another run, which takes what is stored under the same keys.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import canonical, connect, crew_of, open_store
from evalwright.api.discretion import discreet, refuse_secrets
from evalwright.api.files import is_project
from evalwright.api.loops import complete
from evalwright.api.modes import check_modes, refuse_modes, with_modes_of
from evalwright.api.options import RunOptions, Unwatched, Watch, options_of
from evalwright.api.stored import Samples
from evalwright.api.work import Work
from evalwright.errors import UsageError

if TYPE_CHECKING:
    from evalwright.engine.done import Done
    from evalwright.engine.journal import Journal
    from evalwright.engine.run import Crew
    from evalwright.engine.stop import Stop
    from evalwright.plan.plan import Plan
    from evalwright.ports import Model, Sandbox, Store
    from evalwright.report.build import Facts
    from evalwright.report.report import Report
    from evalwright.types import Run, Usage

Paths = str | Path | Sequence[str | Path]


def run(
    path: Paths, models: str | Sequence[str] = (), *, watch: Watch | None = None, **options: Any
) -> "Report":
    """Run every task with every model and report; the options are those of `RunOptions`.

    A path is a file of task records, or a project: its run file, its folder, one of its tasks. The
    models of a project are those that it names, unless some are given here.
    Raises before the first model call for whatever is wrong with tasks, models or options.
    """
    from evalwright.plan.plan import make_plan

    told = options_of(options)
    paths = [str(path)] if isinstance(path, str | Path) else [str(one) for one in path]
    if any(is_project(one) for one in paths):
        return _evaluate(paths, models, told, watch)
    if told.trials is not None:
        raise UsageError("`--trials` is for projects", hint="of task records, `--samples`")
    names = canonical(models)
    check_names([*paths, *names])
    refuse_secrets([*paths, *names], told.parameters)
    plan = make_plan(
        paths,
        names,
        limit=told.limit,
        samples=told.samples,
        allow_bad_tasks=told.allow_bad_tasks,
    )
    clients = {name: connect(name, told, tell=(watch or Unwatched()).tell) for name in names}
    check_modes(plan, clients, told)
    store = open_store(told.store, durable=told.durable)
    try:
        return RecordWork(plan, clients, store, told, watch=watch or Unwatched()).report()
    finally:
        store.close()


def score(name: str = "latest", *, watch: Watch | None = None, **options: Any) -> "Report":
    """Score the stored outputs of a run again, with the task files as they are now.

    No evaluated model is asked: a sample without a stored output fails. A judge of a project is
    asked again where its scorer, the row or the answer has changed, and where it gave no verdict. A
    new run, which names its parent.
    """
    from evalwright.api.manifest import is_evaluation, plan_of
    from evalwright.clients.unasked import Unasked
    from evalwright.plan.plan import make_plan

    told = options_of(options)
    store = open_store(told.store, durable=told.durable, create=False)
    try:
        parent = store.find(name)
        if is_evaluation(parent):
            from evalwright.api.rescore import rescore

            return rescore(parent, store, told, watch or Unwatched())
        told = with_modes_of(told, parent)
        before = plan_of(parent)
        paths = [task.path for task in before.tasks]
        plan = make_plan(
            paths,
            before.models,
            limit=before.limit,
            samples=before.samples,
            allow_bad_tasks=told.allow_bad_tasks,
        )
        clients: dict[str, Model] = {
            model: Unasked(parent.manifest["models"][model]) for model in before.models
        }
        work = RecordWork(plan, clients, store, told, watch=watch or Unwatched(), parent=parent)
        return work.report()
    finally:
        store.close()


class RecordWork(Work):
    """Task records, with the models that the user names."""

    def __init__(
        self,
        plan: "Plan",
        clients: "dict[str, Model]",
        store: "Store",
        options: RunOptions,
        *,
        watch: Watch,
        parent: "Run | None" = None,
    ) -> None:
        super().__init__(plan, store, options, watch=watch, parent=parent)
        self.plan, self.clients = discreet(plan, self.redactor), clients

    def _crew(self, ending: ExitStack) -> "Crew":
        crew = crew_of(self.plan, self.clients, self.options, tell=self.watch.tell)
        if crew.sandbox is not None:
            ending.callback(_close, crew.sandbox)
        return crew

    def _manifest(self, crew: "Crew") -> dict[str, Any]:
        from evalwright.api.manifest import manifest_of

        return manifest_of(self.plan, self.clients, crew, self.options, parent=self.parent)

    def _key(self, manifest: dict[str, Any]) -> str:
        from evalwright.api.manifest import plan_key

        return plan_key(manifest, parent=self.parent)

    def _changes(self, manifest: dict[str, Any], earlier: "Sequence[Run]") -> Sequence[str]:
        from evalwright.api.manifest import what_changed

        return list(what_changed(manifest, earlier))

    def _ended(self, run: "Run", stop: "Stop") -> dict[str, Any]:
        from evalwright.api.manifest import ended

        return ended(run, self.plan, self.options, stop)

    def _others(self, run_id: str) -> "Iterator[Usage]":
        """What models were asked about their answers."""
        if self.options.confidence == "self":
            for outcome in self.store.outcomes(run_id):
                yield from outcome.others.values()

    async def _do(
        self,
        run_id: str,
        crew: "Crew",
        journals: "Callable[[], Journal]",
        done: "Done",
        stop: "Stop",
    ) -> None:
        from evalwright.engine.run import run as run_engine

        del run_id
        jobs = done.left(self.plan.jobs())
        await run_engine(jobs, crew, journals(), workers=self.workers, stop=stop)

    def _build(self, run: "Run", facts: "Facts", samples: Samples) -> "Report":
        from evalwright.report.build import build_report

        return build_report(self.plan, self.store.rows(run.id), facts, samples=samples.first)


def _close(sandbox: "Sandbox") -> None:
    """Whatever has become of the run: its workers must not outlive it."""
    complete(sandbox.close())


def _evaluate(
    paths: Sequence[str], models: str | Sequence[str], told: RunOptions, watch: Watch | None
) -> "Report":
    from evalwright.api.evaluate import evaluate
    from evalwright.api.prepare import environment_of
    from evalwright.secrets import Secret, secrets_in

    if len(paths) > 1:
        raise UsageError(
            f"{', '.join(paths)}: a project is run alone",
            hint="a run file may name as many tasks as you like",
        )
    if told.samples is not None:
        raise UsageError("`--samples` is for task records", hint="of a project, `--trials`")
    refuse_modes(told)
    names = canonical(models) if models else []
    check_names([*paths, *names])
    files = map(Secret, secrets_in(environment_of(told)))
    refuse_secrets([*paths, *names], {**told.parameters, **told.settings}, files)
    return evaluate(paths[0], names, watch=watch, options=told)


def check_names(names: Sequence[str]) -> None:
    """A file system may hold names that JSON, and so a report, cannot."""
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise UsageError(f"{name!a}: a name that is not UTF-8 cannot stand in a report")
