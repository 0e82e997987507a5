"""`memory:`: everything in dicts, nothing on disk. Gone with the process."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter, itemgetter
from threading import RLock
from typing import TypeVar

from msgspec import convert, structs

from evalwright.errors import StoreError
from evalwright.ports import JobClaim, JobId, Manifest
from evalwright.store.scalars import (
    RunLabels,
    current_time,
    match_run_id,
    row_of,
    unknown_run_error,
)
from evalwright.types import Outcome, Row, Run, RunStatus, Score, Trace

Job = tuple[str, int, int, str]
"""Task, ordinal, trial, model: in the order in which they are read."""
T = TypeVar("T")


class MemoryStore:
    """A store that forgets."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._runs: dict[str, Run] = {}
        self._outcomes: dict[str, dict[Job, Outcome]] = {}
        # By key, then by run and job, the newest last.
        self._traces: dict[str, dict[tuple[str, Job], Trace]] = {}
        self._scores: dict[str, dict[tuple[str, Job], Score]] = {}

    def begin(self, run: Run, *, seen: Collection[str] | None = None) -> Run:
        """Add a run, whose id must be new; or return one of the same plan that is not in `seen`."""
        with self._lock:
            for other in self.runs() if seen is not None else []:
                if other.plan_key == run.plan_key and other.id not in (seen or ()):
                    return other
            if run.id in self._runs:
                raise StoreError(f"memory: run `{run.id}` already exists")
            self._runs[run.id] = run
            self._outcomes[run.id] = {}
            return run

    def join(self, run_id: str) -> "SoleMembership":
        """Begin to work on a run: no other process can."""
        return SoleMembership(self.count(run_id)[0])

    def update(
        self, run_id: str, *, status: RunStatus | None = None, manifest: Manifest | None = None
    ) -> None:
        """Change the status of a run and its manifest, by what it is then; the rest stays."""
        with self._lock:
            self._jobs(run_id)
            run = self._runs[run_id]
            if callable(manifest):
                manifest = manifest(run.manifest)
            self._runs[run_id] = structs.replace(
                run,
                status=status or run.status,
                updated=current_time() if status else run.updated,
                manifest=run.manifest if manifest is None else manifest,
            )

    def runs(self) -> list[Run]:
        """Every run, newest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def find(self, name: str) -> Run:
        """The run that `name` means: an id, the start of only one, a name, a tag, or `latest`."""
        runs = {run.id: run for run in sorted(self.runs(), key=attrgetter("updated"), reverse=True)}
        labels = {id_: convert(run.manifest, RunLabels) for id_, run in runs.items()}
        return runs[match_run_id(name, list(runs), lambda: labels)]

    def append(self, run_id: str, outcomes: Sequence[Outcome]) -> None:
        """Keep all of them; each replaces the earlier outcome of its job."""
        with self._lock:
            jobs = self._jobs(run_id)
            for outcome in outcomes:
                job = (outcome.task, outcome.ordinal, outcome.trial, outcome.model)
                self._forget(run_id, job)
                jobs[job] = outcome
                key, trace = outcome.solve_key, outcome.trace
                if key and trace:
                    self._traces.setdefault(key, {})[run_id, job] = trace
                for name, score in outcome.scores.items():
                    if key := outcome.score_keys.get(name, ""):
                        self._scores.setdefault(key, {})[run_id, job] = score

    def list_jobs(self, run_id: str) -> Iterator[tuple[str, str, int, int, bool]]:
        """Task, model, ordinal, trial and whether it failed, for each outcome of a run."""
        return (
            (outcome.task, outcome.model, outcome.ordinal, outcome.trial, bool(outcome.failure))
            for outcome in self._sort_outcomes(run_id)
        )

    def trace(self, solve_key: str, task: str = "") -> Trace | None:
        """The newest trace under a key, of the task if it has one, whatever failed after it."""
        with self._lock:
            return _newest(self._traces.get(solve_key, {}), task)

    def score(self, score_key: str, task: str = "") -> Score | None:
        """The newest score under a key, of the task if it has one."""
        with self._lock:
            return _newest(self._scores.get(score_key, {}), task)

    def rows(self, run_id: str) -> Iterator[Row]:
        """The scalars of each outcome, by task, ordinal, trial and model."""
        return map(row_of, self._sort_outcomes(run_id))

    def outcomes(  # noqa: PLR0913 - one keyword per filter
        self,
        run_id: str,
        *,
        task: str | None = None,
        model: str | None = None,
        sample_id: str | None = None,
        failed: bool | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> Iterator[Outcome]:
        """The outcomes themselves, in the order of `rows`: all, or a page of some."""
        wanted = (
            outcome
            for outcome in self._sort_outcomes(run_id)
            if failed in {None, outcome.failure is not None}
            and task in {None, outcome.task}
            and model in {None, outcome.model}
            and sample_id in {None, outcome.sample_id}
        )
        return islice(wanted, offset, None if limit is None else offset + limit)

    def count(self, run_id: str) -> tuple[int, int]:
        """How many outcomes a run has, and how many of them failed."""
        outcomes = self._sort_outcomes(run_id)
        return len(outcomes), sum(outcome.failure is not None for outcome in outcomes)

    def delete(self, run_id: str) -> int:
        """Forget a run; returns how many outcomes went with it."""
        with self._lock:
            jobs = list(self._jobs(run_id))
            for job in jobs:
                self._forget(run_id, job)
            del self._runs[run_id], self._outcomes[run_id]
            return len(jobs)

    def gc(self) -> int:
        """Nothing to do."""
        return 0

    def close(self) -> None:
        """Nothing to close."""

    def _jobs(self, run_id: str) -> dict[Job, Outcome]:
        if run_id not in self._outcomes:
            raise unknown_run_error(run_id)
        return self._outcomes[run_id]

    def _sort_outcomes(self, run_id: str) -> list[Outcome]:
        with self._lock:
            return [outcome for _, outcome in sorted(self._jobs(run_id).items(), key=itemgetter(0))]

    def _forget(self, run_id: str, job: Job) -> None:
        outcome = self._outcomes[run_id].pop(job, None)
        if outcome is not None:
            self._traces.get(outcome.solve_key, {}).pop((run_id, job), None)
            for key in outcome.score_keys.values():
                self._scores.get(key, {}).pop((run_id, job), None)


class SoleMembership:
    """The part of a process in a run that no other process can reach."""

    def __init__(self, earlier: int) -> None:
        self._earlier = earlier
        self.is_shared = False

    def has_others(self) -> bool:
        """There are none."""
        return False

    def count_earlier(self) -> int:
        """Return how many outcomes the run had."""
        return self._earlier

    def share(self, jobs: Sequence[JobId]) -> None:
        """Nothing to do."""

    def is_ready(self) -> bool:
        """There is nobody to wait for."""
        return True

    def claim(self, jobs: Sequence[JobId]) -> list[JobClaim]:
        """Claim jobs, which nobody else has."""
        return [JobClaim(state="mine") for _ in jobs]

    def others_claim(self) -> bool:
        """There are no others."""
        return False

    def renew(self, jobs: Sequence[JobId]) -> None:
        """Nothing to do."""

    def release(self) -> None:
        """Nothing to do."""

    def leave(self) -> None:
        """Nothing to do."""


def _newest(under: Mapping[tuple[str, Job], T], task: str) -> T | None:
    own = [value for (_, job), value in under.items() if job[0] == task]
    return next(reversed(own or [*under.values()]), None)
