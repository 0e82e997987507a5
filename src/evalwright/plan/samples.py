"""The samples of a task document: rows of its dataset, each with an id.

Each dataset is read once, to its end, before anything is run: to count the rows, and to check that
each can be read.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct

from evalwright.datasets.faults import UnreadableLine, place_of
from evalwright.datasets.rows import AlignedRows
from evalwright.datasets.sampling import select_items
from evalwright.datasets.typed_rows import BadRows
from evalwright.plan.plan import PlannedSample
from evalwright.types import Issue, MLTask, Sample


class IdentifiedRows(Protocol):
    """Rows that have ids."""

    @property
    def digest(self) -> str:
        """Hash of everything that determines the rows."""

    def identify(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each row with its id, in order."""


class RowSamples(Struct, frozen=True, kw_only=True):
    """The rows of one task specification, as samples."""

    rows: IdentifiedRows
    places: Sequence[int]
    """Positions of the rows that are used, in order."""
    together: Callable[[Sequence[int]], dict[str, list[dict[str, Any]]]] | None = None
    """The rows of these samples in each of several datasets: for a scorer of all samples."""
    trials: int = 1
    group: str = ""

    @property
    def excluded_rows(self) -> int:
        """Number of bad rows that were left out."""
        return sum(bad.left_out_count for bad in self._bad_rows)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """The first bad rows that were left out."""
        excluded = (bad for bad in self._bad_rows if bad.left_out_count)
        return tuple(_row_issue(bad, fault) for bad in excluded for fault in bad.first)

    def notes(self, task: str) -> Iterator[str]:
        """Yield a note about bad rows that were kept."""
        for bad in self._bad_rows:
            if bad.policy == "keep":
                first = bad.first[0]
                yield (
                    f"{task}: {bad.count} rows with values that do not fit their types were kept; "
                    f"the first: {place_of(bad.file, first.line)}: {first.detail}"
                )

    @property
    def _bad_rows(self) -> Sequence[BadRows]:
        bad_rows: Sequence[BadRows] = getattr(self.rows, "bad_rows", ())
        return bad_rows

    def planned_samples(self) -> Iterator[PlannedSample]:
        """Yield the samples in order, each with its id."""
        for id_, row in select_items(self.rows.identify(), self.places):
            yield PlannedSample(Sample(id_, row), self.trials, self.group)


def _row_issue(bad: BadRows, fault: UnreadableLine) -> Issue:
    return Issue(
        file=bad.file,
        line=max(fault.line, 0),
        column=fault.column,
        rule="bad_rows",
        detail=fault.detail if fault.line > 0 else f"row {-fault.line}: {fault.detail}",
        hint=fault.hint,
    )


class NoRows:
    """The data of a task without a dataset: one empty sample."""

    digest = ""

    def identify(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield one empty row."""
        yield "0", {}


class LeadingRows:
    """The rows of the first of several datasets: what a scorer of all samples scores."""

    def __init__(self, aligned: AlignedRows) -> None:
        self._aligned = aligned
        self._name, self._first = next(iter(aligned.parts.items()))

    @property
    def digest(self) -> str:
        """Hash of all datasets."""
        return self._aligned.digest

    def identify(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each row with its id, under the name of its dataset."""
        return ((id_, {self._name: row}) for id_, row in self._first.identify())

    @property
    def bad_rows(self) -> Sequence[BadRows]:
        """The bad rows of all datasets."""
        return self._aligned.bad_rows

    def check(self) -> int:
        """Return the number of rows."""
        return self._first.check()


def first_ml_task(tasks: Sequence[MLTask]) -> MLTask:
    """Return the kind of requests of a task: the first that it names; chat by default."""
    return tasks[0] if tasks else "chat_completion"


def choose_ml_task(tasks: Sequence[MLTask], declared: Collection[MLTask]) -> MLTask:
    """What a task asks models for that are declared for these: a custom task may ask for a chat."""
    first = first_ml_task(tasks)
    if first == "custom" and declared and set(declared) == {"chat_completion"}:
        return "chat_completion"
    return first
