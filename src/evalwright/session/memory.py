"""Read from a store: answers that a run can reuse, and outcomes for its report."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from pathlib import Path

from msgspec import structs

from evalwright.ports import Store
from evalwright.report.report import Report
from evalwright.session.stores import MEMORY, open_store, store_name
from evalwright.types import Outcome, Run, Score, Trace


class StoredAnswers:
    """The traces and scores of earlier runs; counts how many traces were reused."""

    def __init__(self, store: Store, traces: Mapping[tuple[str, str], Trace] | None) -> None:
        """With `traces`, only these are used, by task and key; the task `""` means any task."""
        self._store, self._traces = store, traces
        self.reused = 0

    def trace(self, solve_key: str, task: str = "") -> Trace | None:
        """Return a stored trace, and count it."""
        known = self._traces
        if known is None:
            trace = self._store.trace(solve_key, task)
        else:
            trace = known.get((task, solve_key)) or known.get(("", solve_key))
        self.reused += trace is not None
        return trace

    def score(self, score_key: str, task: str = "") -> Score | None:
        """Return a stored score."""
        return self._store.score(score_key, task)


def recall_answers(
    store: Store, runs: Sequence[Run], *, parent: Run | None = None
) -> StoredAnswers:
    """Return the stored results of these runs, newest first."""
    return StoredAnswers(store, _shadowed_traces(store, runs, parent))


def _shadowed_traces(
    store: Store, runs: Sequence[Run], parent: Run | None
) -> dict[tuple[str, str], Trace] | None:
    """Return the traces of a parent run, if a newer run may have others.

    A store returns the newest trace, which a rescored or repeated run may have replaced.
    """
    newer = takewhile(lambda run: parent is not None and run.id != parent.id, runs)
    if parent is None or not any(run.parent or run.manifest.get("fresh") for run in newer):
        return None
    traces: dict[tuple[str, str], Trace] = {}
    for outcome in store.outcomes(parent.id):
        if outcome.trace is not None:
            traces[outcome.task, outcome.solve_key] = outcome.trace
            traces["", outcome.solve_key] = outcome.trace
    return traces


class RunOutcomes:
    """Reads the outcomes of a run: from the open store, or later by opening it again."""

    def __init__(self, store: Store, name: str | Path | None, run_id: str) -> None:
        self._store, self._run_id = store, run_id
        full_name = store_name(name)
        # The current folder may be another one later.
        self._name = full_name if full_name == MEMORY else str(Path(full_name).absolute())

    def read(self, *, failed: bool | None = None) -> Iterator[Outcome]:
        """Read them while the store is open."""
        return self._store.outcomes(self._run_id, failed=failed)

    def reopen(self, *, failed: bool | None = None) -> Iterator[Outcome]:
        """Read them at any later time."""
        with closing(open_store(self._name, create=False)) as store:
            yield from store.outcomes(self._run_id, failed=failed)

    def attach(self, report: Report) -> Report:
        """Return a report that can read outcomes without an open store, except from memory."""
        return structs.replace(report, stored=self.read if self._name == MEMORY else self.reopen)
