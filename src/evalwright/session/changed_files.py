"""Mark a run whose files changed while it was running."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import structs, to_builtins

from evalwright.engine.stop import Stop
from evalwright.errors import EvalwrightError, FileChanged
from evalwright.plan.input_files import describe_change, find_changed_files
from evalwright.plan.manifest import StopFacts, read_manifest
from evalwright.plan.plan import Job, Plan
from evalwright.ports import Store
from evalwright.types import Run


class GuardedJobs:
    """Jobs that end if their samples cannot be read any more: those in flight are stored first."""

    def __init__(self, jobs: Iterable[Job], stop: Stop) -> None:
        self._jobs, self._stop = jobs, stop
        self._error: EvalwrightError | None = None

    def __iter__(self) -> Iterator[Job]:
        try:
            yield from self._jobs
        except EvalwrightError as error:
            self._error = error
            self._stop.request(error.message, hint=error.hint)

    def raise_error(self) -> None:
        """Raise the error that has ended the jobs, if one has."""
        if self._error is not None:
            raise self._error


@contextmanager
def mark_stopped_run(store: Store, run: Run, plan: Plan) -> Iterator[None]:
    """If a file of samples changes, mark the run as stopped, and name the file in it."""
    try:
        yield
    except FileChanged as error:
        manifest = add_changed_files(run, plan).manifest
        facts = StopFacts(reason=error.message, resume_hint=error.hint)
        manifest = {**manifest, "stopped": to_builtins(facts)}
        store.update(run.id, status="stopped", manifest=lambda stored: {**stored, **manifest})
        raise


def add_changed_files(run: Run, plan: Plan, tell: Callable[[str], Any] = lambda _: None) -> Run:
    """Return the run with the names of the files in its manifest that have changed since."""
    before = read_manifest(run).changed_files
    changed = find_changed_files(plan.files)
    if not changed:
        return run
    for path in changed:
        tell(describe_change(path))
    names = list(dict.fromkeys([*before, *changed]))
    return structs.replace(run, manifest={**run.manifest, "changed_files": names})
