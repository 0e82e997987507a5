"""Run an evaluation of task documents: a run file, a folder, or one task.

Everything is checked before the first model call: every document, every parameter, every row of
every dataset, every name of a model. Then the samples run, and when a task's last one is in, what
only all of them together can show: scorers of all samples, action rules, metrics.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import Limits, open_store, workers_for
from evalwright.api.discretion import discreet_values, redactor_here
from evalwright.api.located import FOLDER
from evalwright.api.options import RunOptions, Unwatched, Watch
from evalwright.api.prepare import Prepared, prepare
from evalwright.api.stored import Samples
from evalwright.api.work import Work

if TYPE_CHECKING:
    from evalwright.api.connections import ConnectionPlan
    from evalwright.engine.done import Done
    from evalwright.engine.finish import Landed
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
    from evalwright.types import Outcome, Run, Usage

ROWS_SPENT = "rows_spent"
"""In a manifest: what it took to make the rows."""
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
        prepared = prepare(str(path), models, options, store=store, tell=watch.tell, watch=watch)
        return DocumentWork(prepared, store, options, watch=watch).report()
    finally:
        store.close()


class DocumentWork(Work):
    """The specifications of an evaluation, with their models."""

    def __init__(
        self,
        prepared: Prepared,
        store: "Store",
        options: RunOptions,
        *,
        watch: Watch,
        parent: "Run | None" = None,
    ) -> None:
        super().__init__(prepared.plan, store, options, watch=watch, parent=parent)
        self.redactor = redactor_here(prepared.secrets)
        self.prepared, self.plan = prepared, discreet_values(prepared.plan, self.redactor)
        self.connections: dict[str, ConnectionPlan] = {}
        self.snippets: SnippetPool | None = None
        self.ended: list[Ended] = []
        self.folder = str(Path.cwd())
        """Where the command was given: its paths are relative to it."""
        self.complete = False
        """Whether all that comes after the samples was done, too."""
        if prepared.cache_policy != "reuse" and parent is None:
            self.fresh = True

    def _crew(self, ending: ExitStack) -> "Crew":
        from evalwright.engine.run import Crew

        del ending  # snippets are closed in the loop that they were called in
        self.snippets = self._pool()
        self.connections = {
            name: self.prepared.models[name](self.snippets) for name in self._asked()
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

    def _spent(self, run: "Run | None") -> "Usage":
        from msgspec import structs

        from evalwright.engine.tally import total

        made = self._spent_on_rows(run)  # what is not known cannot be counted, the rest can
        return total([super()._spent(run), structs.replace(made, cost=made.cost or 0.0)])

    def _spent_on_rows(self, run: "Run | None") -> "Usage":
        """What it took to make the rows of this run: they may have been made by an earlier call."""
        from msgspec import convert

        from evalwright.engine.tally import total
        from evalwright.types import NOTHING, Usage

        before = run.manifest.get(ROWS_SPENT) if run is not None else None
        told = convert(before, Usage) if before else NOTHING
        return total([told, self.prepared.spent])

    def _rows_spent(self, run: "Run | None") -> dict[str, Any]:
        """For the manifest: a cap is the run's, however often it is gone on with."""
        from msgspec import to_builtins

        spent = self._spent_on_rows(run)
        return {ROWS_SPENT: to_builtins(spent)} if spent.requests or spent.total_tokens else {}

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
        from evalwright.api.judges import judges_in
        from evalwright.api.logs import TAKEN
        from evalwright.api.manifest import manifest_of, told_by
        from evalwright.api.pooled import POOLED
        from evalwright.api.recorded import notes_on
        from evalwright.engine.clean import cleaned_value

        late = {name: one.run_scorers for name, one in self.prepared.finishing.items()}
        manifest = manifest_of(
            self.plan, self._clients(), crew, self.options, parent=self.parent, late=late
        )
        told = told_by(self.prepared.given, self.options)
        told = cleaned_value(told, self.redactor)
        notes = [*manifest["notes"], *notes_on(self.prepared.recorded.values())]
        notes += [one for one in self.prepared.notes if one not in notes]
        written = cleaned_value(self.prepared.specifications, self.redactor)
        manifest |= {"notes": notes, "specifications": written}
        manifest["judges"] = cleaned_value(judges_in(crew.teams, crew.models), self.redactor)
        manifest |= {"fresh": self.fresh, "told": told, FOLDER: self.folder}
        manifest |= {POOLED: sorted(self.prepared.pooled)} if self.prepared.pooled else {}
        manifest |= {TAKEN: sorted(self.prepared.recorded)} if self.prepared.recorded else {}
        return {**manifest, **self._rows_spent(None), **self._policies()}

    def _asked(self) -> Iterable[str]:
        """The models that are connected: all that are named."""
        return self.prepared.models

    def _clients(self) -> "dict[str, Model]":
        """Bare, by their names."""
        return {name: plan.client for name, plan in self.connections.items() if name}

    def _key(self, manifest: dict[str, Any]) -> str:
        from evalwright.api.manifest import plan_key

        return plan_key(manifest, parent=self.parent)

    def _changes(self, manifest: dict[str, Any], earlier: "Sequence[Run]") -> Sequence[str]:
        from evalwright.api.manifest import what_changed

        return list(what_changed(manifest, earlier))

    def _ended(self, run: "Run", stop: "Stop") -> dict[str, Any]:
        from evalwright.api.manifest import ended

        manifest = ended(run, self.plan, self.options, stop)
        manifest.pop("policies", None)  # those of before
        return {**manifest, FOLDER: self.folder, **self._policies()}

    def _policies(self) -> dict[str, Any]:
        """For the manifest: the project's policies as they are now."""
        from evalwright.api.gate import kept

        policies = kept(self.prepared.policies, self.redactor)
        return {"policies": policies} if policies else {}

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
                    await self._take(run_id, wave, stop)
                    live = [task for task in wave if task.name not in self.prepared.recorded]
                    jobs = _noting(done.left(jobs_of(live, self.prepared.data)), changed)
                    await run_engine(jobs, crew, journals(), workers=self.workers, stop=stop)
                await stop.unless_interrupted(self._finish(run_id, wave, crew.snippets))
            self.complete = len(self.ended) == sum(len(task.models) for task in self.plan.tasks)
        finally:
            if self.snippets is not None:
                await self.snippets.close()

    async def _take(self, run_id: str, tasks: "Sequence[PlannedSpec]", stop: "Stop") -> None:
        """Of the tasks whose results are there already: all outcomes, unless they are stored."""
        counts = _landed(self.store, run_id)
        for task in tasks:
            found = self.prepared.recorded.get(task.name)
            if found is not None and counts.get((task.name, task.models[0]), 0) < found.log.landed:
                async for batch in found.outcomes(stop):
                    self._write(run_id, batch)
                    self.watch.committed(batch)

    async def _finish(
        self, run_id: str, tasks: "Sequence[PlannedSpec]", snippets: "Snippets | None"
    ) -> None:
        """Before the next wave: it may read what is found here."""
        from evalwright.api.pooled import without_intervals
        from evalwright.engine.clean import cleaned_end
        from evalwright.engine.finish import finish
        from evalwright.report.evaluation import Ended

        counts = _landed(self.store, run_id)
        for task in tasks:
            for model in task.models:
                complete = counts.get((task.name, model), 0) >= task.jobs
                found = self.prepared.recorded.get(task.name)
                if found is not None and counts.get((task.name, model), 0) < found.log.landed:
                    continue  # stopped: its figures are of all of them
                finished = await (
                    found.log.end(model, seed=self.options.seed)
                    if found is not None
                    else finish(
                        self.prepared.finishing[task.name],
                        self._outcomes(run_id, task.name, model, complete=complete),
                        snippets,
                        seed=self.options.seed,
                    )
                )
                finished = cleaned_end(finished, self.redactor) if self.redactor else finished
                if task.name in self.prepared.pooled:
                    without_intervals(finished)
                self.ended.append(Ended(task=task.name, model=model, finished=finished))

    def _outcomes(self, run_id: str, task: str, model: str, *, complete: bool) -> "Landed":
        from evalwright.engine.finish import Landed

        def outcomes() -> "Iterator[Outcome]":
            return self.store.of_task(run_id, task, model)

        def write(changed: "Sequence[Outcome]") -> None:
            self._write(run_id, changed)

        return Landed(outcomes=outcomes, write=write, complete=complete)

    def _build(self, run: "Run", facts: "Facts", samples: Samples) -> "Report":
        from msgspec import to_builtins

        from evalwright.api.judges import with_judges
        from evalwright.report.evaluation import build_evaluation_report

        report = build_evaluation_report(
            self.plan,
            self.store.rows(run.id),
            facts,
            ended=self._in_order() if self.complete else None,
            samples=samples.first,
        )
        if self.prepared.policies:
            from evalwright.api.gate import with_policies

            report = with_policies(report, self.prepared.policies, run, self.store, self.redactor)
        report = with_judges(report, run, self.store)
        run.manifest["report"] = report.to_dict()
        if self.complete:
            run.manifest["results"] = to_builtins(self._in_order(), str_keys=True)
        return report

    def _in_order(self) -> "list[Ended]":
        """As the evaluation names its tasks, whichever was run first."""
        places = {task.name: place for place, task in enumerate(self.plan.tasks)}
        return sorted(self.ended, key=lambda one: places[one.task])

    def _resumed(self, run: "Run") -> "Run":
        """The report of before is no longer that of the run, nor are its figures."""
        from msgspec import structs

        from evalwright.api.manifest import ended_as

        gone = {"report", "results"}
        manifest = {name: value for name, value in run.manifest.items() if name not in gone}
        manifest |= self._rows_spent(run)
        self.store.update(run.id, status="running", manifest=partial(ended_as, manifest))
        return structs.replace(run, manifest=manifest)

    @property
    def workers(self) -> int:
        """How many at once: more where no model is asked."""
        asked = any(name for name in self.plan.models)
        if self.options.concurrency is None and not asked:
            return max(1, min(_ROWS_AT_ONCE, self.plan.total))
        return max(1, min(workers_for(self.plan, self.options), self.plan.total))


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
