"""Begin a run, or go on with one, and report.

The same plan in the same store is the same run: what it has done is not done again. Another plan
is another run, which takes what is stored under the same keys.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import (
    STATE,
    canonical,
    connect,
    crew_of,
    equipped,
    open_store,
    workers_for,
)
from evalwright.api.discretion import discreet, redactor_here, refuse_secrets
from evalwright.api.loops import complete
from evalwright.api.options import RunOptions, Unwatched, Watch, options_of
from evalwright.api.stored import Remembering, Samples, remembering
from evalwright.errors import UsageError

if TYPE_CHECKING:
    from evalwright.engine.models.stack import Shared
    from evalwright.engine.run import Crew
    from evalwright.engine.stop import Stop
    from evalwright.plan.plan import Plan
    from evalwright.ports import Model, Sandbox, Shelf, Store
    from evalwright.report.report import Report
    from evalwright.types import Outcome, Run, Usage

Paths = str | Path | Sequence[str | Path]


def run(
    path: Paths, models: str | Sequence[str], *, watch: Watch | None = None, **options: Any
) -> "Report":
    """Run every task with every model and report; the options are those of `RunOptions`.

    Raises before the first model call for whatever is wrong with tasks, models or options.
    """
    from evalwright.plan.plan import make_plan

    told = options_of(options)
    paths = [str(path)] if isinstance(path, str | Path) else [str(one) for one in path]
    names = canonical(models)
    _check_names([*paths, *names])
    refuse_secrets([*paths, *names], told.parameters)
    plan = make_plan(
        paths,
        names,
        limit=told.limit,
        samples=told.samples,
        allow_bad_tasks=told.allow_bad_tasks,
    )
    clients = {name: connect(name, told) for name in names}
    store = open_store(told.store, durable=told.durable)
    try:
        return Work(plan, clients, store, told, watch=watch or Unwatched()).report()
    finally:
        store.close()


def score(name: str = "latest", *, watch: Watch | None = None, **options: Any) -> "Report":
    """Score the stored outputs of a run again, with the task files as they are now.

    No model is asked: a sample without a stored output fails. A new run, which names its parent.
    """
    from evalwright.api.manifest import plan_of
    from evalwright.clients.unasked import Unasked
    from evalwright.plan.plan import make_plan

    told = options_of(options)
    store = open_store(told.store, durable=told.durable, create=False)
    try:
        parent = store.find(name)
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
        work = Work(plan, clients, store, told, watch=watch or Unwatched(), parent=parent)
        return work.report()
    finally:
        store.close()


class Work:
    """One invocation: a plan, who does it, where it is kept."""

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
        self.redactor = redactor_here()
        self.plan, self.clients, self.store = discreet(plan, self.redactor), clients, store
        self.options, self.watch, self.parent = options, watch, parent
        self.reused = 0
        self.seconds = 0.0
        """While samples were under way."""

    def report(self) -> "Report":
        """Do what is left to do, and report on all of it."""
        from msgspec import structs

        from evalwright.api.manifest import ended, facts_of
        from evalwright.engine.stop import Stop
        from evalwright.report.build import build_report

        stop = Stop(
            most_failures=self.options.max_failures, total=self.plan.total, tell=self.watch.tell
        )
        with ExitStack() as ending:
            run = self._carry_out(stop, ending)
        run = structs.replace(run, manifest=ended(run, self.plan, self.options, stop))
        facts = facts_of(
            run,
            wall_seconds=self.seconds,
            reused=self.reused,
            stopped=stop.requested,
        )
        samples = Samples(self.store, self.options.store, run.id)
        report = build_report(self.plan, self.store.rows(run.id), facts, samples=samples.first)
        self.store.update(run.id, status=report.status, manifest=run.manifest)
        return samples.attached(report)

    def _carry_out(self, stop: "Stop", ending: ExitStack) -> "Run":
        """Find or begin the run, and do what is left of it."""
        from evalwright.api.manifest import manifest_of, plan_key, what_changed

        crew = crew_of(self.plan, self.clients, self.options, tell=self.watch.tell)
        if crew.sandbox is not None:
            ending.callback(_close, crew.sandbox)
        manifest = manifest_of(self.plan, self.clients, crew, self.options, parent=self.parent)
        key = plan_key(manifest, parent=self.parent)
        earlier = self.store.runs()
        run = None if self.options.fresh else _of_plan(earlier, key)
        shared = self._shared(run, ending)
        crew = equipped(crew, self.options, shared)
        if run is None:
            run = self._begin(key, manifest)
            for change in () if self.options.fresh else what_changed(manifest, earlier):
                self.watch.tell(change)
        if self.parent or (earlier and not run.manifest.get("fresh")):
            crew = remembering(crew, self.store, earlier, parent=self.parent)
        started = perf_counter()
        self._work_off(run.id, crew, shared, stop)
        self.seconds = perf_counter() - started
        return run

    def _shared(self, run: "Run | None", ending: ExitStack) -> "Shared":
        from evalwright.engine.models.cap import Budget
        from evalwright.engine.models.count import Counters
        from evalwright.engine.models.prices import Prices, read_prices
        from evalwright.engine.models.stack import Shared

        told = self.options
        capped = told.max_cost is not None or told.max_tokens_total is not None
        return Shared(
            counters=Counters(),
            redactor=self.redactor or None,
            prices=Prices(read_prices(told.prices) if told.prices else None),
            budget=Budget(
                max_cost=told.max_cost,
                max_tokens=told.max_tokens_total,
                spent=self._spent(run),
            )
            if capped
            else None,
            shelf=_shelf(ending) if told.cache else None,
        )

    def _spent(self, run: "Run | None") -> "Usage":
        """By earlier invocations of this run: a cap is the run's."""
        from evalwright.types import Usage

        requests = prompt_tokens = completion_tokens = 0
        cost = 0.0
        for row in self.store.rows(run.id) if run else ():
            requests += row.requests
            prompt_tokens += row.prompt_tokens
            completion_tokens += row.completion_tokens
            cost += row.cost or 0.0
        return Usage(requests, prompt_tokens, completion_tokens, cost)

    def _begin(self, key: str, manifest: dict[str, Any]) -> "Run":
        from datetime import UTC, datetime
        from secrets import token_hex

        from evalwright.types import Run

        now = datetime.now(UTC)
        run = Run(
            id=f"{now:%Y%m%d-%H%M%S}-{token_hex(2)}",
            created=now.isoformat(timespec="seconds"),
            updated=now.isoformat(timespec="seconds"),
            status="running",
            plan_key=key,
            parent=self.parent.id if self.parent else None,
            manifest=manifest,
        )
        self.store.begin(run)
        return run

    def _work_off(self, run_id: str, crew: "Crew", shared: "Shared", stop: "Stop") -> None:
        from evalwright.engine.clean import cleaned
        from evalwright.engine.done import Done
        from evalwright.engine.journal import Journal
        from evalwright.engine.run import run as run_engine

        done = Done(self.store.done(run_id), retry_failed=self.options.retry_failed)
        self.reused = done.count
        redactor = shared.redactor

        def write(outcomes: "Sequence[Outcome]") -> None:
            kept = [cleaned(one, redactor) for one in outcomes] if redactor else outcomes
            self.store.append(run_id, kept)

        async def work() -> None:
            journal = Journal(write, committed=self.watch.committed)
            with stop.on_ctrl_c():
                try:
                    await run_engine(
                        done.left(self.plan.jobs()), crew, journal, workers=workers, stop=stop
                    )
                finally:
                    for model in crew.models.values():
                        await model.close()

        workers = min(workers_for(self.plan, self.options), self.plan.total)
        self.watch.begin(self.plan.total, done.count, shared.counters)
        try:
            complete(work())
        finally:
            self.watch.end(interrupted=stop.interrupted)
        self.reused += crew.memory.reused if isinstance(crew.memory, Remembering) else 0


def _of_plan(runs: "Sequence[Run]", key: str) -> "Run | None":
    return next((run for run in runs if run.plan_key == key), None)


def _shelf(ending: ExitStack) -> "Shelf":
    from evalwright.store.shelf import SqliteShelf

    shelf = SqliteShelf(STATE / "cache.db")
    ending.callback(shelf.close)
    return shelf


def _close(sandbox: "Sandbox") -> None:
    """Whatever has become of the run: its workers must not outlive it."""
    complete(sandbox.close())


def _check_names(names: Sequence[str]) -> None:
    """A file system may hold names that JSON, and so a report, cannot."""
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise UsageError(f"{name!a}: a name that is not UTF-8 cannot stand in a report")
