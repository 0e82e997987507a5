"""The rows of a run, folded into columns as they stream by.

A sample costs a few bytes a model, so a report over a million of them fits where one over a
thousand does. A record's place is its task's offset plus its ordinal.
"""

from array import array
from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from evalwright.plan.plan import Plan, PlannedTask
from evalwright.report.failures import Kinds, count
from evalwright.types import Row

Floats = NDArray[np.float64]


class Column(Struct, kw_only=True):
    """What one model did, record by record, and in sum."""

    score_sum: "array[float]"
    """Of the completed trials of each record."""
    completed: "array[int]"
    correct: "array[int]"
    failed: "array[int]"
    expected: "array[int]"
    """How many trials each record has; the same array in every column."""
    confidences: "array[float]" = field(default_factory=lambda: array("d"))
    verdicts: "array[int]" = field(default_factory=lambda: array("b"))
    """Right or wrong, for each answer that came with a confidence."""
    places: "array[int]" = field(default_factory=lambda: array("i"))
    """The record of each of them: trials of one record belong together."""
    nlls: "array[float]" = field(default_factory=lambda: array("d"))
    nll_tokens: int = 0
    outcomes: int = 0
    traces: int = 0
    truncated: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    costs: "array[float]" = field(default_factory=lambda: array("d"))
    unknown_cost: bool = False

    def means(self) -> Floats:
        """The mean score of each record that this model completed; NaN for the others."""
        tries = np.asarray(self.completed)
        done = (tries >= np.asarray(self.expected)) & (np.asarray(self.failed) == 0)
        means = np.full(len(tries), np.nan)
        np.divide(np.asarray(self.score_sum), tries, out=means, where=done)
        return means


class Folded(Struct, kw_only=True):
    """All columns of a run, with the category of every record."""

    columns: dict[str, Column]
    offsets: dict[str, int]
    groups: "array[int]"
    """Each record's category, as a place in `group_names`; -1 where nothing has landed."""
    group_names: list[str] = field(default_factory=list)
    failures: Kinds = field(default_factory=dict)

    def place(self, task: PlannedTask) -> slice:
        """Where the records of a task stand."""
        return slice(self.offsets[task.name], self.offsets[task.name] + task.records)

    def of_group(self, name: str) -> NDArray[np.bool_]:
        """Which records are in a category; none, if nothing of it has landed."""
        if name not in self.group_names:
            return np.zeros(len(self.groups), dtype=np.bool_)
        return np.asarray(np.asarray(self.groups) == self.group_names.index(name))

    def members(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Each category, and which records are in it."""
        for name in sorted(self.group_names):
            yield name, self.of_group(name)


def fold(plan: Plan, rows: Iterable[Row]) -> Folded:
    """One pass; rows of tasks or models that are not in the plan are none of its business."""
    offsets: dict[str, int] = {}
    size = 0
    for task in plan.tasks:
        offsets[task.name] = size
        size += task.records
    expected = _expected(plan.tasks)
    folded = Folded(
        columns={model: _empty(size, expected) for model in plan.models},
        offsets=offsets,
        groups=array("b", [-1]) * size,
    )
    codes: dict[str, int] = {}
    for row in rows:
        column = folded.columns.get(row.model)
        if column is None or row.task not in offsets:
            continue
        at = offsets[row.task] + row.ordinal
        if row.group not in codes:
            codes[row.group] = len(codes)
            folded.group_names.append(row.group)
        folded.groups[at] = codes[row.group]
        _add(column, row, at)
        count(folded.failures, row)
    return folded


def _expected(tasks: Iterable[PlannedTask]) -> "array[int]":
    expected = array("i")
    for task in tasks:
        for records, tries in task.tries or ((task.records, 1),):
            expected.extend(array("i", [tries]) * records)
    return expected


def _empty(size: int, expected: "array[int]") -> Column:
    def zeros() -> "array[int]":
        return array("i", bytes(4 * size))

    return Column(
        score_sum=array("d", bytes(8 * size)),
        completed=zeros(),
        correct=zeros(),
        failed=zeros(),
        expected=expected,
    )


def _add(column: Column, row: Row, at: int) -> None:
    column.outcomes += 1
    if row.failure_type is not None and row.correct is None:
        column.failed[at] += 1
    elif row.score is not None:  # it stands, even if the model could not be asked how sure it is
        column.completed[at] += 1
        column.score_sum[at] += row.score
        column.correct[at] += bool(row.correct)
        known = row.confidence if row.failure_type is None else None
        if known is not None and row.correct is not None:
            column.confidences.append(known)
            column.verdicts.append(row.correct)
            column.places.append(at)
    if not row.finish:
        return
    column.traces += 1
    column.truncated += row.finish == "length"
    column.requests += row.requests
    column.prompt_tokens += row.prompt_tokens
    column.completion_tokens += row.completion_tokens
    if row.nll is not None:
        column.nlls.append(row.nll)
        column.nll_tokens += row.nll_tokens
    if row.requests and row.cost is None:
        column.unknown_cost = True
    elif row.cost:
        column.costs.append(row.cost)
