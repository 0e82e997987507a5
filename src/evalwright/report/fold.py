"""The rows of a run, folded into arrays and counts as they stream by.

A sample costs a few bytes per model, so a report over a million of them fits where one over a
thousand does. The samples of tasks whose metrics are made from rows stand in one array per model:
a sample's place is its task's offset plus its ordinal. Of tasks that are finalized, rows give
counts, usage, perplexity and failures alone.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from evalwright.plan.outline import PlanOutline, TaskOutline
from evalwright.report.calibration import Answers
from evalwright.report.result_rows import Account, FailureKinds, count_failure
from evalwright.stats.arrays import Floats
from evalwright.types import Row, Usage


class ModelFold(Struct, kw_only=True):
    """What one model did, sample by sample and in sum."""

    score_sum: "array[float]"
    """Of the completed trials of each sample."""
    completed: "array[int]"
    correct: "array[int]"
    failed: "array[int]"
    expected: "array[int]"
    """How many trials each sample has; the same array for every model."""
    answers: Answers = field(default_factory=Answers)
    has_confidences: bool = False
    """Whether an answer to a finalized task came with a confidence."""
    nlls: "array[float]" = field(default_factory=lambda: array("d"))
    nll_tokens: int = 0
    truncated: int = 0

    def means(self) -> Floats:
        """Return the mean score of each sample that this model completed; NaN for the others."""
        trials = np.asarray(self.completed)
        done = (trials >= np.asarray(self.expected)) & (np.asarray(self.failed) == 0)
        means = np.full(len(trials), np.nan)
        np.divide(np.asarray(self.score_sum), trials, out=means, where=done)
        return means


class RunFold(Struct, kw_only=True):
    """What all models did, with the category of every sample."""

    models: dict[str, ModelFold]
    offsets: dict[str, int]
    """Where the samples of each task begin that is not finalized."""
    groups: "array[int]"
    """Each sample's category, as a place in `group_names`; -1 where nothing has landed."""
    group_names: list[str] = field(default_factory=list)
    failures: FailureKinds = field(default_factory=dict)
    account: Account = field(default_factory=Account)
    landed: int = 0
    failed: int = 0
    """Outcomes that failed, of those that landed."""
    wrong: int = 0
    """Outcomes whose first verdict is that they are wrong."""
    samples: int = 0
    """Outcomes; of finalized tasks, samples whose trials have all landed."""
    failed_samples: int = 0
    """Those of them that failed, or of which a trial did."""

    def places(self, task: TaskOutline) -> slice:
        """Return where the samples of a task stand."""
        return slice(self.offsets[task.name], self.offsets[task.name] + task.records)

    def members(self, group: str) -> NDArray[np.bool_]:
        """Return which samples are in a category; none, if nothing of it has landed."""
        if group not in self.group_names:
            return np.zeros(len(self.groups), dtype=np.bool_)
        return np.asarray(np.asarray(self.groups) == self.group_names.index(group))

    def categories(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield each category, and which samples are in it."""
        for name in sorted(self.group_names):
            yield name, self.members(name)


def fold_rows(
    plan: PlanOutline, rows: Iterable[Row], *, unscored: Collection[tuple[str, str]] = ()
) -> RunFold:
    """Read the rows once. Rows of tasks or models that are not in the plan are skipped.

    `unscored` are the tasks and models of which a scorer of all samples has failed: so has every
    sample.

    Rows of finalized tasks come by task, sample, trial and model, as stores give them; those of
    others in any order.
    """
    tasks = {task.name: task for task in plan.tasks}
    models = {task.name: frozenset(task.models) for task in plan.tasks}
    fold = _start_fold(plan)
    counter = _SampleCounter(fold, unscored)
    for row in rows:
        task = tasks.get(row.task)
        if task is None or row.model not in models[row.task]:
            continue
        model = fold.models[row.model]
        fold.landed += 1
        fold.wrong += row.correct is False
        model.answers.outcomes += 1
        if row.failure_type is not None:
            fold.failed += 1
            count_failure(fold.failures, row, row.failure_type)
        if task.finalized:
            counter.add(task, row)
            model.has_confidences = model.has_confidences or row.confidence is not None
        else:
            _add_score(fold, model, row)
        if row.finish:
            _add_answer(fold.account, model, row, is_finalized=task.finalized)
    counter.close()
    return fold


def _start_fold(plan: PlanOutline) -> RunFold:
    offsets: dict[str, int] = {}
    size = 0
    expected = array("i")
    for task in plan.tasks:
        if not task.finalized:
            offsets[task.name] = size
            size += task.records
            for samples, trials in task.trial_counts or ((task.records, task.tries),):
                expected.extend(array("i", [trials]) * samples)

    def zeros() -> "array[int]":
        return array("i", bytes(4 * size))

    names = dict.fromkeys([*plan.models, *(name for task in plan.tasks for name in task.models)])
    return RunFold(
        models={
            name: ModelFold(
                score_sum=array("d", bytes(8 * size)),
                completed=zeros(),
                correct=zeros(),
                failed=zeros(),
                expected=expected,
            )
            for name in names
        },
        offsets=offsets,
        groups=array("b", [-1]) * size,
    )


def _add_score(fold: RunFold, model: ModelFold, row: Row) -> None:
    place = fold.offsets[row.task] + row.ordinal
    if row.group not in fold.group_names:
        fold.group_names.append(row.group)
    fold.groups[place] = fold.group_names.index(row.group)
    fold.samples += 1
    fold.failed_samples += row.failure_type is not None
    if row.failure_type is not None and row.correct is None:
        model.failed[place] += 1
    elif row.score is not None:  # it stands, even if the model could not be asked how sure it is
        model.completed[place] += 1
        model.score_sum[place] += row.score
        model.correct[place] += bool(row.correct)
        if row.failure_type is None and row.confidence is not None and row.correct is not None:
            model.answers.add(row.confidence, place, is_right=row.correct)


def _add_answer(account: Account, model: ModelFold, row: Row, *, is_finalized: bool) -> None:
    model.truncated += row.finish == "length"
    if row.nll is not None:
        model.nlls.append(row.nll)
        model.nll_tokens += row.nll_tokens
    if is_finalized or row.requests:
        account.add_answer(row.model, row)
    else:  # replayed: it has tokens, and is known to cost nothing
        tokens = row.prompt_tokens, row.completion_tokens
        account.add_answer(row.model, Usage(0, *tokens, cost=row.cost or 0.0))


class _SampleCounter:
    """Counts the samples of finalized tasks as their rows pass by.

    A sample counts when all its trials have landed; it has failed if one of them has. A system
    task has no samples.
    """

    def __init__(self, fold: RunFold, unscored: Collection[tuple[str, str]]) -> None:
        self._fold, self._unscored = fold, unscored
        self._place: tuple[str, int] | None = None
        self._expected = 1
        self._current: dict[str, tuple[int, bool]] = {}
        """By model: the trials of the current sample, and whether one has failed."""

    def add(self, task: TaskOutline, row: Row) -> None:
        """Count one trial."""
        if task.kind == "system":
            return
        if (row.task, row.ordinal) != self._place:
            self.close()
            self._place = row.task, row.ordinal
            self._expected = 1 if task.landed else task.tries
        trials, failed = self._current.get(row.model, (0, False))
        failed = failed or row.failure_type is not None or (row.task, row.model) in self._unscored
        self._current[row.model] = trials + 1, failed

    def close(self) -> None:
        """Count the current sample of every model."""
        for trials, failed in self._current.values():
            self._fold.samples += trials >= self._expected
            self._fold.failed_samples += failed and trials >= self._expected
        self._current.clear()
