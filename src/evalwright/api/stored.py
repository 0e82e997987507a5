"""What a store gives back: answers to a run that needs them again, outcomes to its report."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from evalwright.api.assembly import MEMORY, open_store, store_name

if TYPE_CHECKING:
    from evalwright.engine.run import Crew
    from evalwright.ports import Store
    from evalwright.report.report import Report
    from evalwright.types import Outcome, Run, Score, Trace


class Remembering:
    """What earlier runs have paid for, and how often that was used."""

    def __init__(self, store: "Store", traces: "Mapping[tuple[str, str], Trace] | None") -> None:
        """Only these traces, by task and key, if they are given; under no task, of any."""
        self._store, self._traces = store, traces
        self.reused = 0

    def trace(self, solve_key: str, task: str = "") -> "Trace | None":
        """A stored trace; counted, because nothing was asked for it."""
        known = self._traces
        if known is None:
            found = self._store.trace(solve_key, task)
        else:
            found = known.get((task, solve_key)) or known.get(("", solve_key))
        self.reused += found is not None
        return found

    def score(self, score_key: str, task: str = "") -> "Score | None":
        """A stored score."""
        return self._store.score(score_key, task)


class Samples:
    """The way back to the outcomes: through the open store, and later by opening it again."""

    def __init__(self, store: "Store", name: str | Path | None, run_id: str) -> None:
        self._store, self._run_id = store, run_id
        named = store_name(name)
        # The folder may be another one later.
        self._name = named if named == MEMORY else str(Path(named).absolute())

    def first(self, *, failed: bool | None = None) -> "Iterator[Outcome]":
        """While the store is open."""
        return self._store.outcomes(self._run_id, failed=failed)

    def later(self, *, failed: bool | None = None) -> "Iterator[Outcome]":
        """At any time after."""
        store = open_store(self._name, create=False)
        try:
            yield from store.outcomes(self._run_id, failed=failed)
        finally:
            store.close()

    def attached(self, report: "Report") -> "Report":
        """The report, with a way back that needs no open store, except one that forgets."""
        from msgspec import structs

        return structs.replace(report, stored=self.first if self._name == MEMORY else self.later)


def remembering(
    crew: "Crew", store: "Store", runs: "Sequence[Run]", *, parent: "Run | None" = None
) -> "Crew":
    """The same crew, with what these runs (newest first) have paid for."""
    from msgspec import structs

    return structs.replace(crew, memory=Remembering(store, _shadowed(store, runs, parent)))


def _shadowed(
    store: "Store", runs: "Sequence[Run]", parent: "Run | None"
) -> "dict[tuple[str, str], Trace] | None":
    """The traces of a parent, where a newer run may have others: a store gives the newest.

    A run that has neither asked again nor scored another one again has taken these.
    """
    newer = takewhile(lambda run: parent is not None and run.id != parent.id, runs)
    if parent is None or not any(run.parent or run.manifest.get("fresh") for run in newer):
        return None
    found: dict[tuple[str, str], Trace] = {}
    for one in store.outcomes(parent.id):
        if one.trace is not None:
            found[one.task, one.solve_key] = found["", one.solve_key] = one.trace
    return found
