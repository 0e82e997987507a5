"""Run an evaluation of task documents: a run file, a folder, or one task.

Everything is checked before the first model call: every document, every parameter, every row of
every dataset, every name of a model. Then the samples run, and when a task's last one is in, what
only all of them together can show: scorers of all samples, action rules, metrics.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import Limits, notes_on, open_store, workers_for
from evalwright.api.discretion import discreet_values, redactor_here
from evalwright.api.options import RunOptions, Unwatched, Watch
from evalwright.api.prepare import Prepared, prepare
from evalwright.api.stored import Samples
from evalwright.api.work import Work

if TYPE_CHECKING:
    from evalwright.api.connections import ConnectionPlan
    from evalwright.engine.done import Done
    from evalwright.engine.finish import Figure, Landed
    from evalwright.engine.journal import Journal
    from evalwright.engine.run import Crew
    from evalwright.engine.stop import Stop
    from evalwright.plan.documents import PlannedSpec
    from evalwright.plan.plan import Job
    from evalwright.ports import Model, Snippets, Store
    from evalwright.report.build import Facts
    from evalwright.report.evaluation import Ended
    from evalwright.report.report import Report
    from evalwright.snippets.pool import SnippetPool
    from evalwright.types import Outcome, Run

_ROWS_AT_ONCE = 512
"""Samples under way where no model is asked: their snippets travel together."""


def evaluate(
    path: str | Path,
    models: Sequence[str] = (),
    *,
    watch: Watch | None = None,
    options: RunOptions,
) -> "Report":
    """Run what a project says; `models` take the place of those that it names."""
    store = open_store(options.store, durable=options.durable)
    watch = watch or Unwatched()
    try:
        prepared = prepare(str(path), models, options, store=store, tell=watch.tell)
        return DocumentWork(prepared, store, options, watch=watch).report()
    finally:
        store.close()


class DocumentWork(Work):
    """The specifications of an evaluation, with their models."""

    def __init__(
        self, prepared: Prepared, store: "Store", options: RunOptions, *, watch: Watch
    ) -> None:
        super().__init__(prepared.plan, store, options, watch=watch)
        self.redactor = redactor_here(prepared.secrets)
        self.prepared, self.plan = prepared, discreet_values(prepared.plan, self.redactor)
        self.connections: dict[str, ConnectionPlan] = {}
        self.snippets: SnippetPool | None = None
        self.ended: list[Ended] = []
        self.complete = False
        """Whether all that comes after the samples was done, too."""
        if prepared.cache_policy != "reuse":
            self.fresh = True

    def _crew(self, ending: ExitStack) -> "Crew":
        from evalwright.engine.run import Crew

        del ending  # snippets are closed in the loop that they were called in
        self.snippets = self._pool()
        self.connections = {
            name: connect(self.snippets) for name, connect in self.prepared.models.items()
        }
        told = (one for plan in self.connections.values() for one in plan.secrets)
        self.redactor = redactor_here([*self.prepared.secrets, *told])
        return Crew(
            models={name: plan.client for name, plan in self.connections.items()},
            teams=self.prepared.teams,
            snippets=self.snippets,
            by_sample=frozenset(name for name, plan in self.connections.items() if plan.by_sample),
        )

    def _pool(self) -> "SnippetPool | None":
        """The processes that snippets run in; none are started before one is called."""
        if not self.prepared.snippets:
            return None
        from evalwright.snippets.pool import SnippetPool
        from evalwright.snippets.settings import Settings
        from evalwright.snippets.sources import sources_of

        return SnippetPool(
            sources_of(self.prepared.snippets),
            log=self._printed,
            settings=Settings(timeout_s=self.options.snippet_timeout),
        )

    def _printed(self, line: str) -> None:
        """A line of a snippet: what it may know, a terminal may not."""
        self.watch.tell(self.redactor.clean(line))

    def _limits(self) -> dict[str, Limits]:
        return {
            name: Limits(
                name=plan.name,
                requests_per_minute=plan.requests_per_minute,
                at_once=plan.at_once,
                remote=plan.remote,
                by_sample=plan.by_sample,
            )
            for name, plan in self.connections.items()
        }

    def _manifest(self, crew: "Crew") -> dict[str, Any]:
        from evalwright.api.manifest import manifest_of

        clients: dict[str, Model] = {
            name: plan.client for name, plan in self.connections.items() if name
        }
        late = {name: one.run_scorers for name, one in self.prepared.finishing.items()}
        manifest = manifest_of(self.plan, clients, crew, self.options, late=late)
        return {**manifest, "fresh": self.fresh, "notes": list(notes_on(clients))}

    def _key(self, manifest: dict[str, Any]) -> str:
        from evalwright.api.manifest import plan_key

        return plan_key(manifest, parent=None)

    def _changes(self, manifest: dict[str, Any], earlier: "Sequence[Run]") -> Sequence[str]:
        from evalwright.api.manifest import what_changed

        return list(what_changed(manifest, earlier))

    def _ended(self, run: "Run", stop: "Stop") -> dict[str, Any]:
        from evalwright.api.manifest import ended

        return ended(run, self.plan, self.options, stop)

    async def _do(
        self,
        run_id: str,
        crew: "Crew",
        journals: "Callable[[], Journal]",
        done: "Done",
        stop: "Stop",
    ) -> None:
        from evalwright.engine.run import run as run_engine
        from evalwright.plan.documents import jobs_of

        self.prepared.here.run_id = run_id
        changed: set[str] = set()
        waves = self.plan.waves()
        try:
            for wave in waves:
                if not stop.requested:
                    for task in wave:
                        if task.after in changed:  # its samples are other ones now
                            self.reused -= done.forget(task.name)
                    jobs = _noting(done.left(jobs_of(wave, self.prepared.data)), changed)
                    await run_engine(jobs, crew, journals(), workers=self.workers, stop=stop)
                await stop.unless_interrupted(self._finish(run_id, wave, crew.snippets))
            self.complete = len(self.ended) == sum(len(task.models) for task in self.plan.tasks)
        finally:
            if self.snippets is not None:
                await self.snippets.close()

    async def _finish(
        self, run_id: str, tasks: "Sequence[PlannedSpec]", snippets: "Snippets | None"
    ) -> None:
        """Before the next wave: it may read what is found here."""
        from evalwright.engine.clean import cleaned_end
        from evalwright.engine.finish import finish
        from evalwright.report.evaluation import Ended

        counts = _landed(self.store, run_id)
        pooled = {task.name for task in self.plan.tasks if len(task.models) > 1}
        for task in tasks:
            for model in task.models:
                complete = counts.get((task.name, model), 0) >= task.records
                finished = await finish(
                    self.prepared.finishing[task.name],
                    self._outcomes(run_id, task.name, model, complete=complete),
                    snippets,
                    seed=self.options.seed,
                )
                finished = cleaned_end(finished, self.redactor) if self.redactor else finished
                if task.after in pooled:
                    finished.figures = [_dependent(one) for one in finished.figures]
                self.ended.append(Ended(task=task.name, model=model, finished=finished))

    def _outcomes(self, run_id: str, task: str, model: str, *, complete: bool) -> "Landed":
        from evalwright.engine.finish import Landed

        def outcomes() -> "Iterator[Outcome]":
            return self.store.of_task(run_id, task, model)

        def write(changed: "Sequence[Outcome]") -> None:
            self._write(run_id, changed)

        return Landed(outcomes=outcomes, write=write, complete=complete)

    def _build(self, run: "Run", facts: "Facts", samples: Samples) -> "Report":
        from evalwright.report.evaluation import build_evaluation_report

        report = build_evaluation_report(
            self.plan,
            self.store.rows(run.id),
            facts,
            ended=self._in_order() if self.complete else None,
            samples=samples.first,
        )
        run.manifest["report"] = report.to_dict()
        return report

    def _in_order(self) -> "list[Ended]":
        """As the evaluation names its tasks, whichever was run first."""
        places = {task.name: place for place, task in enumerate(self.plan.tasks)}
        return sorted(self.ended, key=lambda one: places[one.task])

    def _resumed(self, run: "Run") -> "Run":
        """The report of before is no longer that of the run."""
        from msgspec import structs

        manifest = {name: value for name, value in run.manifest.items() if name != "report"}
        self.store.update(run.id, status="running", manifest=manifest)
        return structs.replace(run, manifest=manifest)

    @property
    def workers(self) -> int:
        """How many at once: more where no model is asked."""
        asked = any(name for name in self.plan.models)
        if self.options.concurrency is None and not asked:
            return min(_ROWS_AT_ONCE, self.plan.total)
        return min(workers_for(self.plan, self.options), self.plan.total)


def _landed(store: "Store", run_id: str) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for task, model, *_ in store.done(run_id):
        counts[task, model] = counts.get((task, model), 0) + 1
    return counts


def _noting(jobs: "Iterator[Job]", tasks: set[str]) -> "Iterator[Job]":
    """The same jobs; the names of their tasks are kept."""
    for job in jobs:
        tasks.add(job.task)
        yield job


def _dependent(figure: "Figure") -> "Figure":
    """Rows of several models on the same samples go together, and would look too sure."""
    from msgspec import structs

    reason = "no interval: the rows are of several models on the same samples"
    measure = structs.replace(figure.measure, interval=None, reason=figure.measure.reason or reason)
    return structs.replace(figure, measure=measure)
