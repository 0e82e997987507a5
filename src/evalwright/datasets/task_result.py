"""`task_result`: what became of the samples of another task.

    source:
      type: task_result
      key: first-pass            # the key of a task specification, of this run or an earlier one

A row has `sample`, `sample_id`, `solver_output`, `scores` and `errors`.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal

from evalwright.datasets.reading import Reader, digest_of
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import UnknownName
from evalwright.nearest import suggest

COLUMNS = ("sample", "sample_id", "solver_output", "scores", "errors")


class TaskResult:
    """The rows of a result, from whoever keeps it; `rows` begins again with each call."""

    header: tuple[str, ...] | None = COLUMNS
    """What each of its rows has."""

    def __init__(self, rows: Callable[[], Iterator[dict[str, Any]]], *, digest: str = "") -> None:
        self._rows = rows
        self._digest = digest

    @cached_property
    def digest(self) -> str:
        """What its keeper says it is; else it is read once, to see."""
        return self._digest or digest_of(self._rows())

    def rows(self) -> Iterator[dict[str, Any]]:
        """One a sample of the other task."""
        return self._rows()


class TaskResultSource(SourceSpec):
    """The samples, outputs and scores of another task."""

    type: Literal["task_result"]
    key: str
    """The key of its task specification."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """The result; `UnknownName` if there is none of that key."""
        results = surroundings.task_results
        if callable(results):
            return results(self.key)
        known = dict(results or {})
        if self.key not in known:
            raise UnknownName(
                f"no task has a result under the key `{self.key}`",
                hint=suggest(self.key, list(known)),
            )
        return known[self.key]

    def label(self) -> str:
        """Its key."""
        return f"the result of `{self.key}`"
