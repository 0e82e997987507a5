"""One invocation: find or start the run of a plan, do the remaining work, finalize, report.

The same plan in the same store is the same run: completed work is not repeated. Another plan
is another run, which reuses what is stored under the same keys. What differs between plans is data
in the plan, so there is one driver for all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from secrets import token_hex
from time import perf_counter
from typing import Any

from msgspec import Struct, structs, to_builtins

from evalwright.engine.finalize import finalize_task
from evalwright.engine.journal import Journal
from evalwright.engine.models.wrap import SharedWrapping
from evalwright.engine.redact import make_redactor, redact, redact_outcomes
from evalwright.engine.results import TaskModelResult, TaskOutcomes
from evalwright.engine.resume import FinishedJobs
from evalwright.engine.run import Resources
from evalwright.engine.run import run as run_engine
from evalwright.engine.stop import Stop
from evalwright.errors import UsageError
from evalwright.event_loop import run_async
from evalwright.plan.manifest import (
    Command,
    Manifest,
    describe_changes,
    key_of_run,
    plan_key,
    read_manifest,
)
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Job, Plan, TaskPlan
from evalwright.ports import Membership, Model, Store
from evalwright.report.build import build_report
from evalwright.report.headline import make_headline
from evalwright.report.report import Report
from evalwright.secrets import Redactor
from evalwright.session.changed_files import GuardedJobs, add_changed_files, mark_stopped_run
from evalwright.session.drive import drive
from evalwright.session.judges import add_judges, check_recorded_judges
from evalwright.session.manifests import describe_run, end_manifest, keep_checks, report_facts
from evalwright.session.memory import RunOutcomes, StoredAnswers, recall_answers
from evalwright.session.models import (
    Connection,
    Connector,
    choose_workers,
    share_limits,
    wrap_models,
)
from evalwright.session.modes import check_modes
from evalwright.session.progress import Progress, RunningScores, SilentProgress
from evalwright.session.reports import add_moved_scores
from evalwright.session.sandboxes import open_sandbox, sandbox_packages
from evalwright.session.sharing import SharedRun
from evalwright.session.snippets import open_snippets
from evalwright.store.scalars import RESUMABLE
from evalwright.types import NOTHING, Outcome, Row, Run, Usage

_ROWS_AT_ONCE = 512
"""Concurrent samples if no model is called: their snippets are called in batches."""


class Rescoring(Struct, frozen=True, kw_only=True):
    """A run whose stored answers are scored again: no evaluated model is queried."""

    parent: Run
    stand_ins: Mapping[str, Model]
    """Models that only have the fingerprints of the original ones."""


class Session:
    """A plan, its store, and what it is run with."""

    def __init__(  # noqa: PLR0913 - one keyword each
        self,
        plan: Plan,
        store: Store,
        options: RunOptions,
        *,
        connect: Connector,
        progress: Progress | None = None,
        command: Command | None = None,
        folder: str = "",
        rescoring: Rescoring | None = None,
        on_print: Callable[[str], None] | None = None,
    ) -> None:
        """`on_print` receives the lines that snippets print, instead of `progress`."""
        self.plan, self.store, self.options = plan, store, options
        self.progress = progress or SilentProgress()
        self.redactor: Redactor = make_redactor(plan.secrets)
        self.outline = redact(plan.outline, self.redactor)
        self.stop = Stop(
            most_failures=options.max_failures, total=self.outline.total, tell=self.progress.tell
        )
        self._connect = connect
        self._command = command or Command()
        self._folder = folder or str(Path.cwd())
        self._rescoring = rescoring
        self._on_print = on_print or self.progress.tell
        self._connections: dict[str, Connection] = {}
        self._results: list[TaskModelResult] = []
        self._is_finalized = False
        self._reused = 0
        self._seconds = 0.0
        """Time spent running samples."""
        self._others_run = False
        """Whether another process still works on the run."""
        self._ignores_runs = options.fresh or (not plan.reuses_outcomes and rescoring is None)
        """Whether nothing is reused from earlier runs."""

    @property
    def parent(self) -> Run | None:
        """The run whose answers are scored again."""
        return self._rescoring.parent if self._rescoring else None

    def run(self) -> Report:
        """Do the remaining work, and return the report of the whole run."""
        with ExitStack() as exit_stack:
            run = self._carry_out(exit_stack)
        manifest = structs.replace(
            end_manifest(read_manifest(run), self.outline, self.options, self.stop),
            folder=self._folder,
            policies=self._dump_policies(),
        )
        outcomes = RunOutcomes(self.store, self.options.store, run.id)
        facts = report_facts(
            run.id,
            manifest,
            wall_seconds=self._seconds,
            reused=self._reused,
            stopped=self.stop.is_stopping,
        )
        report = build_report(
            self.outline,
            self.store.rows(run.id),
            facts,
            results=self._sorted_results() if self._is_finalized else None,
            samples=outcomes.read,
        )
        run = structs.replace(run, manifest=manifest.to_builtins())
        report = add_judges(self._add_policies(report, run), run, self.store)
        headline = to_builtins(make_headline(report, self.outline))
        manifest = structs.replace(manifest, headline=headline)
        if any(task.finalization for task in self.plan.tasks):
            manifest = structs.replace(
                manifest,
                report=report.to_dict(),
                results=to_builtins(self._sorted_results(), str_keys=True)
                if self._is_finalized
                else None,
            )
        status = None if self.stop.is_stopping and self._others_run else report.status
        self.store.update(
            run.id, status=status, manifest=partial(keep_checks, manifest.to_builtins())
        )
        return outcomes.attach(add_moved_scores(report, run, self.store))

    # Find or begin the run, and run its jobs.

    def _carry_out(self, exit_stack: ExitStack) -> Run:
        resources = self._open_resources(exit_stack)
        manifest = self._describe(resources)
        key = plan_key(manifest, parent=self.parent.id if self.parent else "")
        earlier = self.store.runs()
        run = self._find_run(earlier, key)
        self._refuse_taken_name(earlier, run)
        shared = share_limits(
            self.options,
            exit_stack,
            redactor=self.redactor,
            spent=partial(self._usage_so_far, run),
            command="score" if self.parent else "run",
        )
        wrapped = wrap_models(self._connections, self.options, shared)
        resources = structs.replace(resources, models={**resources.models, **wrapped})
        if run is not None:
            run = self._resume(run)
        else:
            begun = self._describe_run(key, manifest)
            run = self.store.begin(
                begun, seen=None if self.options.fresh else {run.id for run in earlier}
            )
            if run.id != begun.id:  # another process has begun it meanwhile
                run = self._resume(run)
            elif not self._ignores_runs and not self.plan.imported:
                for change in describe_changes(manifest, earlier):
                    self.progress.tell(change)
        if self.parent or (earlier and not read_manifest(run).fresh):
            memory = recall_answers(self.store, earlier, parent=self.parent)
            resources = structs.replace(resources, memory=memory)
        started = perf_counter()
        with mark_stopped_run(self.store, run, self.plan):
            self._run_jobs(run.id, resources, shared)
        run = add_changed_files(run, self.plan, tell=self.progress.tell)
        if shared.budget is not None and shared.budget.overrun and not self.stop.is_stopping:
            self.progress.tell(shared.budget.overrun)
        self._seconds = perf_counter() - started
        return run

    def _open_resources(self, exit_stack: ExitStack) -> Resources:
        """Open models, sandbox and snippets; `exit_stack` closes them."""
        plan, options = self.plan, self.options
        snippets = open_snippets(plan.snippets, options, log=self._print_line)
        names = self._names_to_connect()
        self._connections = {name: self._connect(name, snippets) for name in names}
        clients = {name: connection.client for name, connection in self._connections.items()}
        evaluated = {name: clients[name] for name in plan.models if name and name in clients}
        check_modes(plan, evaluated, options)
        check_recorded_judges(plan, clients)
        secrets = (s for connection in self._connections.values() for s in connection.secrets)
        self.redactor = make_redactor([*plan.secrets, *secrets])
        sandbox = open_sandbox(options, tell=self.progress.tell) if plan.needs_sandbox else None
        if sandbox is not None:  # its workers must not outlive the run, whatever becomes of it
            exit_stack.callback(lambda: run_async(sandbox.close()))
        stand_ins = self._rescoring.stand_ins if self._rescoring else {}
        by_sample = {name for name, connection in self._connections.items() if connection.by_sample}
        if self.parent:
            by_sample |= set(read_manifest(self.parent).by_sample)
        return Resources(
            models={**stand_ins, **clients},
            tasks={task.name: task.runtime for task in plan.tasks},
            sandbox=sandbox,
            packages=sandbox_packages(options) if sandbox else (),
            snippets=snippets,
            by_sample=frozenset(by_sample),
            stand_ins=stand_ins,
        )

    def _names_to_connect(self) -> list[str]:
        """Return all models of the plan; when scoring again, only those that scorers query."""
        plan = self.plan
        names = list(dict.fromkeys([*plan.live_models, *plan.other_models]))
        if self._rescoring is None:
            return names
        asked = {
            task.runtime.other_models[key]
            for task in plan.tasks
            for scorer in task.runtime.scorers.values()
            for key in getattr(scorer, "model_keys", ())
        }
        known = self._rescoring.stand_ins
        return [name for name in names if name in asked or name not in known]

    def _print_line(self, line: str) -> None:
        self._on_print(self.redactor.clean(line))

    def _describe(self, resources: Resources) -> Manifest:
        plan = self.plan
        stand_ins = self._rescoring.stand_ins if self._rescoring else {}
        clients = {
            name: self._connections[name].client if name in self._connections else stand_ins[name]
            for name in dict.fromkeys([*plan.models, *self._connections])
            if name and (name in self._connections or name in stand_ins)
        }
        manifest = describe_run(
            plan, self.outline, clients, resources, self.options, parent=self.parent
        )
        return structs.replace(
            manifest,
            name=self.options.name or "",
            tags=self.options.tags,
            fresh=self._ignores_runs,
            folder=self._folder,
            command=redact(self._command, self.redactor),
            specifications=redact(
                {task.name: task.specification for task in plan.tasks if task.specification},
                self.redactor,
            ),
            judges=redact(manifest.judges, self.redactor) or None,
            answers={name: model.fingerprint for name, model in stand_ins.items()},
            rows_spent=self._row_usage(None),
            policies=self._dump_policies(),
        )

    def _find_run(self, runs: Sequence[Run], key: str) -> Run | None:
        if self.options.fresh:
            return None
        same = (run for run in runs if key_of_run(run) == key)
        if not self._ignores_runs:
            return next(same, None)
        # Only its own unfinished work, and no other run's.
        run = next((run for run in same if run.status in RESUMABLE), None)
        ended = run is not None and run.status == "finished_with_failures"
        return None if ended and not self.options.retry_failed else run

    def _refuse_taken_name(self, runs: Sequence[Run], run: Run | None) -> None:
        name = self.options.name
        for other in runs:
            if name and other.manifest.get("name") == name and (run is None or other.id != run.id):
                raise UsageError(
                    f"`--name {name}`: run {other.id} already has this name",
                    hint="choose a different name, or use `--tag KEY=VALUE`, which runs may share",
                )

    def _describe_run(self, key: str, manifest: Manifest) -> Run:
        now = datetime.now(UTC)
        return Run(
            id=f"{now:%Y%m%d-%H%M%S}-{token_hex(2)}",
            created=now.isoformat(timespec="seconds"),
            updated=now.isoformat(timespec="seconds"),
            status="running",
            plan_key=key,
            parent=self.parent.id if self.parent else None,
            manifest=manifest.to_builtins(),
        )

    def _resume(self, run: Run) -> Run:
        """Mark the run as running; its earlier report and results are no longer valid."""
        before = read_manifest(run)
        manifest = structs.replace(
            before,
            name=self.options.name or before.name,
            tags={**before.tags, **self.options.tags},
            headline=None,
            report=None,
            results=None,
            rows_spent=self._row_usage(run),
        ).to_builtins()
        self.store.update(run.id, status="running", manifest=partial(keep_checks, manifest))
        return structs.replace(run, manifest=manifest)

    def _run_jobs(self, run_id: str, resources: Resources, shared: SharedWrapping) -> None:
        membership = self.store.join(run_id)  # first: what others store from now on is new to us
        done = FinishedJobs(self.store.list_jobs(run_id), retry_failed=self.options.retry_failed)
        self._reused = min(done.count, membership.count_earlier())

        self.progress.begin(
            self.outline.total,
            done.count,
            shared.counters,
            noun=self.outline.noun,
            scores=RunningScores(self.outline, is_resumed=bool(done.count)),
        )
        failed = self.store.count(run_id)[1] if done.count else 0
        if failed and not self.options.retry_failed:
            self.progress.tell(f"{failed:,} of them failed: `--retry-failed` retries them")
        with self._share(run_id, membership, done, shared) as shared_run:
            drive(
                partial(self._run_waves, run_id, resources, done, shared_run),
                resources,
                stop=self.stop,
                progress=self.progress,
            )
            self._others_run = shared_run.has_others()
        memory = resources.memory
        self._reused += memory.reused if isinstance(memory, StoredAnswers) else 0

    @contextmanager
    def _share(
        self,
        run_id: str,
        membership: Membership,
        done: FinishedJobs,
        shared: SharedWrapping,
    ) -> Iterator[SharedRun]:
        def note_done(usage: Usage) -> None:
            self.progress.on_done_elsewhere()
            if shared.budget is not None:
                shared.budget.add(usage)

        shared_run = SharedRun(
            membership,
            done,
            batch=self._workers(),
            tell=partial(self.progress.tell, f"sharing run {run_id} with another process"),
            on_done=note_done,
        )
        try:
            yield shared_run
        finally:
            shared_run.close()

    async def _run_waves(
        self, run_id: str, resources: Resources, done: FinishedJobs, shared_run: SharedRun
    ) -> None:
        self.plan.current_run.run_id = run_id

        def write(outcomes: Sequence[Outcome]) -> None:
            self._write(run_id, outcomes)
            shared_run.note_stored_jobs(outcomes)

        await shared_run.wait_until_ready(lambda: self.stop.is_stopping)
        changed: set[str] = set()
        """The tasks with a job in this invocation."""
        waves = self.plan.waves()
        for wave in waves:
            if not self.stop.is_stopping:
                for task in wave:
                    if task.outline.after in changed:  # its samples are other ones now
                        self._reused -= done.forget(task.name)
                await self._store_recorded_results(run_id, wave)
                live = [task for task in wave if not task.recorded]
                is_left = True
                while is_left and not self.stop.is_stopping:
                    planned = GuardedJobs(
                        chain.from_iterable(task.jobs() for task in live), self.stop
                    )
                    jobs = shared_run.hand_out(done.remaining_jobs(planned))
                    if len(waves) > 1:  # a later task may read what these make
                        jobs = _note_tasks(jobs, changed)
                    journal = Journal(write, on_commit=self.progress.on_commit)
                    await run_engine(
                        jobs, resources, journal, workers=self._workers(), stop=self.stop
                    )
                    planned.raise_error()
                    is_left = await shared_run.wait_for_others(lambda: self.stop.is_stopping)
            if any(task.finalization for task in wave):
                await shared_run.wait_for_turn(lambda: self.stop.is_stopping)
                await self.stop.run_until_interrupt(self._finalize(run_id, wave, resources))
                shared_run.end_turn()
        finalized = sum(len(task.outline.models) for task in self.plan.tasks if task.finalization)
        self._is_finalized = len(self._results) == finalized

    async def _store_recorded_results(self, run_id: str, tasks: Sequence[TaskPlan]) -> None:
        if not any(task.recorded for task in tasks):
            return
        counts = _count_outcomes(self.store, run_id)
        for task in tasks:
            landed = counts.get((task.name, task.outline.models[0]), 0)
            if task.recorded is not None and landed < task.recorded.outcome_count:
                async for batch in task.recorded.outcomes(self.stop):
                    self._write(run_id, batch)
                    self.progress.on_commit(batch)

    async def _finalize(self, run_id: str, tasks: Sequence[TaskPlan], resources: Resources) -> None:
        """Finalize each task with each model before the next wave, which may read the results."""
        counts = _count_outcomes(self.store, run_id)
        for task in tasks:
            if task.finalization is None:
                continue
            for model in task.outline.models:
                landed = counts.get((task.name, model), 0)
                if task.recorded is not None:
                    if landed < task.recorded.outcome_count:
                        continue  # stopped: its metrics are of all its outcomes
                    result = await task.recorded.finalize(model, seed=self.options.seed)
                else:
                    result = await finalize_task(
                        task.finalization,
                        TaskOutcomes(
                            outcomes=partial(
                                self.store.outcomes, run_id, task=task.name, model=model
                            ),
                            write=partial(self._write, run_id),
                            complete=landed >= task.outline.jobs,
                        ),
                        resources.snippets,
                        seed=self.options.seed,
                    )
                result = redact(result, self.redactor)
                self._results.append(TaskModelResult(task=task.name, model=model, finished=result))

    def _write(self, run_id: str, outcomes: Sequence[Outcome]) -> None:
        self.store.append(run_id, redact_outcomes(outcomes, self.redactor))

    def _sorted_results(self) -> list[TaskModelResult]:
        """Return the results in the order of the plan."""
        places = {task.name: place for place, task in enumerate(self.plan.tasks)}
        return sorted(self._results, key=lambda result: places[result.task])

    # Policies are documents; a plan without any must not import what reads them.

    def _dump_policies(self) -> list[dict[str, Any]] | None:
        if not self.plan.policies:
            return None
        from evalwright.session.policies import dump_policies

        return dump_policies(self.plan.policies, self.redactor)

    def _add_policies(self, report: Report, run: Run) -> Report:
        if not self.plan.policies:
            return report
        from evalwright.session.policies import add_policies

        return add_policies(report, self.plan.policies, run, self.store, self.redactor)

    # What earlier invocations of the run have used: a budget is the run's.

    def _usage_so_far(self, run: Run | None) -> Usage:
        used: list[Row | Usage] = []
        if run is not None:
            own: Iterator[Row] = iter(()) if self.parent else self.store.rows(run.id)
            used = [_sum_usage(chain(own, self._other_usage(run.id)))]
        rows = self._row_usage(run) or NOTHING
        return _sum_usage([*used, structs.replace(rows, cost=rows.cost or 0.0)])

    def _other_usage(self, run_id: str) -> Iterator[Usage]:
        asks = any(task.runtime.counts_other_usage or task.recorded for task in self.plan.tasks)
        # A solver that failed after some calls has no trace: its outcome says what they took.
        for outcome in self.store.outcomes(run_id, failed=None if asks else True):
            yield from outcome.others.values()

    def _row_usage(self, run: Run | None) -> Usage | None:
        """Return the cost of generating the rows of this run, including earlier invocations."""
        before = (read_manifest(run).rows_spent if run is not None else None) or NOTHING
        used = before + self.plan.spent
        return used if used.requests or used.total_tokens else None

    def _workers(self) -> int:
        """Return the number of concurrent jobs: more if no model is called."""
        jobs = self.outline.total
        if self.options.concurrency is None and not any(self.plan.models):
            return max(1, min(_ROWS_AT_ONCE, jobs))
        workers = choose_workers(
            self.plan.models, self.options, needs_sandbox=self.plan.needs_sandbox
        )
        return max(1, min(workers, jobs))


def _note_tasks(jobs: Iterator[Job], tasks: set[str]) -> Iterator[Job]:
    """Yield the same jobs, and add the names of their tasks to `tasks`."""
    for job in jobs:
        tasks.add(job.task)
        yield job


def _count_outcomes(store: Store, run_id: str) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for task, model, *_ in store.list_jobs(run_id):
        counts[task, model] = counts.get((task, model), 0) + 1
    return counts


def _sum_usage(parts: Any) -> Usage:
    requests = prompt_tokens = completion_tokens = 0
    cost = 0.0
    for part in parts:
        requests += part.requests
        prompt_tokens += part.prompt_tokens
        completion_tokens += part.completion_tokens
        cost += part.cost or 0.0
    return Usage(requests, prompt_tokens, completion_tokens, cost)
