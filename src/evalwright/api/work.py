"""One invocation: find or begin the run of a plan, do what is left of it, report.

The same plan in the same store is the same run: what it has done is not done again. Another plan
is another run, which takes what is stored under the same keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import equipped, shared_by, workers_for
from evalwright.api.discretion import redactor_here
from evalwright.api.loops import complete
from evalwright.api.options import RunOptions, Watch
from evalwright.api.stored import Remembering, Samples, remembering

if TYPE_CHECKING:
    from evalwright.api.assembly import Limits
    from evalwright.engine.done import Done
    from evalwright.engine.journal import Journal
    from evalwright.engine.models.stack import Shared
    from evalwright.engine.run import Crew
    from evalwright.engine.stop import Stop
    from evalwright.plan.documents import DocumentPlan
    from evalwright.plan.plan import Plan
    from evalwright.ports import Store
    from evalwright.report.build import Facts
    from evalwright.report.report import Report
    from evalwright.secrets import Redactor
    from evalwright.types import Outcome, Row, Run, Usage


class Work(ABC):
    """A plan, who does it, where it is kept."""

    def __init__(
        self,
        plan: "Plan | DocumentPlan",
        store: "Store",
        options: RunOptions,
        *,
        watch: Watch,
        parent: "Run | None" = None,
    ) -> None:
        self._planned, self.store = plan, store
        self.options, self.watch, self.parent = options, watch, parent
        self.redactor: Redactor = redactor_here()
        self.reused = 0
        self.seconds = 0.0
        """While samples were under way."""
        self.fresh = options.fresh
        """Whether nothing is taken from earlier runs."""
        self.resumes = not options.fresh
        """Whether an earlier run of the same plan is gone on with."""

    @abstractmethod
    def _crew(self, ending: ExitStack) -> "Crew":
        """Who does the work, their models bare; what must be closed goes to `ending`."""

    @abstractmethod
    def _manifest(self, crew: "Crew") -> dict[str, Any]:
        """What the run is."""

    @abstractmethod
    def _key(self, manifest: dict[str, Any]) -> str:
        """Of the plan."""

    @abstractmethod
    def _ended(self, run: "Run", stop: "Stop") -> dict[str, Any]:
        """The manifest after this invocation."""

    @abstractmethod
    async def _do(
        self,
        run_id: str,
        crew: "Crew",
        journals: "Callable[[], Journal]",
        done: "Done",
        stop: "Stop",
    ) -> None:
        """Every job that is left, and whatever comes after the last."""

    @abstractmethod
    def _build(self, run: "Run", facts: "Facts", samples: Samples) -> "Report":
        """The report on all of it."""

    def _changes(self, manifest: dict[str, Any], earlier: "Sequence[Run]") -> Sequence[str]:
        """What is not as it was in an earlier run of these tasks, for people."""
        del manifest, earlier
        return ()

    def _resumed(self, run: "Run") -> "Run":
        """The run as it is gone on with."""
        return run

    def _limits(self) -> "dict[str, Limits]":
        """What the documents of models say about asking them."""
        return {}

    def report(self) -> "Report":
        """Do what is left to do, and report on all of it."""
        from msgspec import structs

        from evalwright.api.manifest import ended_as, facts_of
        from evalwright.engine.stop import Stop

        stop = Stop(
            most_failures=self.options.max_failures, total=self._planned.total, tell=self.watch.tell
        )
        with ExitStack() as ending:
            run = self._carry_out(stop, ending)
        run = structs.replace(run, manifest=self._ended(run, stop))
        facts = facts_of(
            run,
            wall_seconds=self.seconds,
            reused=self.reused,
            stopped=stop.requested,
        )
        samples = Samples(self.store, self.options.store, run.id)
        report = self._build(run, facts, samples)
        self.store.update(run.id, status=report.status, manifest=partial(ended_as, run.manifest))
        return samples.attached(report)

    def _carry_out(self, stop: "Stop", ending: ExitStack) -> "Run":
        """Find or begin the run, and do what is left of it."""
        crew = self._crew(ending)
        manifest = self._manifest(crew)
        key = self._key(manifest)
        earlier = self.store.runs()
        run = self._earlier(earlier, key)
        shared = self._shared(run, ending)
        crew = equipped(crew, self.options, shared, limits=self._limits())
        if run is not None:
            run = self._resumed(run)
        else:
            run = self._begin(key, manifest)
            for change in () if self.fresh else self._changes(manifest, earlier):
                self.watch.tell(change)
        if self.parent or (earlier and not run.manifest.get("fresh")):
            crew = remembering(crew, self.store, earlier, parent=self.parent)
        started = perf_counter()
        self._work_off(run.id, crew, shared, stop)
        if shared.budget is not None and shared.budget.exceeded and not stop.requested:
            self.watch.tell(shared.budget.exceeded)
        self.seconds = perf_counter() - started
        return run

    def _earlier(self, runs: "Sequence[Run]", key: str) -> "Run | None":
        if not self.resumes:
            return None
        if self.fresh:  # its own unfinished work, and no other's
            found = self.store.unfinished(key)
            ended = found is not None and found.status == "finished_with_failures"
            return None if ended and not self.options.retry_failed else found
        return next((run for run in runs if run.plan_key == key), None)

    def _shared(self, run: "Run | None", ending: ExitStack) -> "Shared":
        return shared_by(
            self.options,
            ending,
            redactor=self.redactor,
            spent=partial(self._spent, run),
            command="score" if self.parent else "run",
        )

    def _spent(self, run: "Run | None") -> "Usage":
        """By earlier invocations of this run: a cap is the run's."""
        from evalwright.types import Usage

        requests = prompt_tokens = completion_tokens = 0
        cost = 0.0
        told: Iterable[Row | Usage] = ()
        if run is not None:  # the answers of a parent were paid for by it
            own = () if self.parent else self.store.rows(run.id)
            told = chain(own, self._others(run.id))
        for one in told:
            requests += one.requests
            prompt_tokens += one.prompt_tokens
            completion_tokens += one.completion_tokens
            cost += one.cost or 0.0
        return Usage(requests, prompt_tokens, completion_tokens, cost)

    def _others(self, run_id: str) -> "Iterator[Usage]":
        """What models beside the evaluated one took: only tasks of documents have such."""
        from evalwright.plan.documents import DocumentPlan

        if isinstance(self._planned, DocumentPlan):
            for outcome in self.store.outcomes(run_id):
                yield from outcome.others.values()

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

    def _write(self, run_id: str, outcomes: "Sequence[Outcome]") -> None:
        """Store them, without a secret in them."""
        from evalwright.engine.clean import cleaned

        redactor = self.redactor
        kept = [cleaned(one, redactor) for one in outcomes] if redactor else outcomes
        self.store.append(run_id, kept)

    def _work_off(self, run_id: str, crew: "Crew", shared: "Shared", stop: "Stop") -> None:
        from evalwright.engine.done import Done
        from evalwright.engine.journal import Journal

        done = Done(self.store.done(run_id), retry_failed=self.options.retry_failed)
        self.reused = done.count

        def write(outcomes: "Sequence[Outcome]") -> None:
            self._write(run_id, outcomes)

        async def work() -> None:
            def journals() -> Journal:
                return Journal(write, committed=self.watch.committed)

            with stop.on_ctrl_c():
                try:
                    await self._do(run_id, crew, journals, done, stop)
                finally:
                    for model in crew.models.values():
                        await model.close()

        self.watch.begin(self._planned.total, done.count, shared.counters, noun=self._planned.noun)
        if done.count and (failed := self.store.count(run_id)[1]) and not self.options.retry_failed:
            self.watch.tell(f"{failed:,} of them failed: `--retry-failed` tries them again")
        try:
            complete(work())
        finally:
            self.watch.end(interrupted=stop.interrupted)
        self.reused += crew.memory.reused if isinstance(crew.memory, Remembering) else 0

    @property
    def workers(self) -> int:
        """How many at once."""
        return min(workers_for(self._planned, self.options), self._planned.total)
