"""The outline of a plan: what a run's manifest stores of it, as plain data.

An outline is enough to compare two plans, to count the remaining work, and to build the report
again without the files that the plan was compiled from. It is the same for both authoring formats.
"""

from typing import Any, Literal

from msgspec import Struct

from evalwright.metrics.terms import SampleTerms
from evalwright.types import Issue

NO_MODEL = ""
"""The model name of a task without a model."""

METRIC_NAMES = "metric_display_names"
"""The key of the display names of metrics in a task's specification."""

CATEGORY = "category"
"""The column of a dataset with the category of a sample."""

EvaluatedEntity = Literal["model", "dataset", "system"]
Ranking = Literal["all_tasks", "per_task"]


class PrimaryMetric(Struct, frozen=True, kw_only=True):
    """The metric that models are ranked by: the mean of one score per sample."""

    scorer: str
    field: str
    """The score, by the scorer's name for it."""
    metric: str
    """The name of the metric in reports."""


class MetricOutline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A metric with `purpose: score`, and how each sample enters it."""

    scorer: str
    metric: str = ""
    """Its name in reports; empty for the mean of each number that the scorer returns."""
    terms: SampleTerms | None = None
    """None if two runs cannot be compared by it sample by sample."""
    lower_is_better: bool = False


class TaskOutline(Struct, frozen=True, kw_only=True):
    """One task with its models, its samples and its parameters."""

    name: str
    task_key: str = ""
    display_name: str = ""
    specification: str = ""
    """The key of the task specification, if the task is one of its variants."""
    variant: str = ""
    """The name of the variant."""
    kind: EvaluatedEntity = "model"
    path: str = ""
    """The file that the task was read from, if it is its own file."""
    models: tuple[str, ...] = (NO_MODEL,)
    records: int = 0
    """Number of samples."""
    trials: int = 1
    """Number of trials per sample; the maximum, if `trial_counts` says that they differ."""
    trial_counts: tuple[tuple[int, int], ...] = ()
    """Runs of samples with equal numbers of trials; empty if all have the same number."""
    repeats: int = 1
    """Number of repeats of the whole task. Repeat r has the trials r·T to r·T + T - 1."""
    landed: int = 0
    """The number of outcomes per model, if an imported result does not follow `trials`."""
    code_exec: int = 0
    """Number of samples that run code from a model."""
    after: str = ""
    """The task whose results are the samples of this one."""
    values: dict[str, Any] = {}
    """The values of its parameters."""
    digest: str = ""
    """Hash of the task with its values, and of its data."""
    samples_digest: str = ""
    """Hash of its samples alone: tasks with the same samples can be compared sample by sample."""
    issues: tuple[Issue, ...] = ()
    """The invalid records, or the bad rows of the dataset, that were left out. Of rows, only the
    first are listed."""
    excluded_rows: int = 0
    """Number of bad rows that were left out of the dataset."""
    primary: PrimaryMetric | None = None
    metrics: tuple[MetricOutline, ...] = ()
    """Empty in runs of earlier versions."""
    component_digests: dict[str, str] = {}
    """Hash of each component of the task, to name what differs between two runs."""
    finalized: bool = False
    """Whether its metrics are computed after its last sample, and stored with the run.
    Otherwise a report computes them from the stored scores."""

    @property
    def invalid(self) -> int:
        """Number of invalid records or bad rows that were left out."""
        return self.excluded_rows or len(self.issues)

    @property
    def names(self) -> set[str]:
        """The names by which the task can be selected: its own, and that of its specification."""
        return {self.name, self.specification} - {""}

    @property
    def tries(self) -> int:
        """Number of trials per sample in all repeats."""
        return self.trials * self.repeats

    @property
    def jobs(self) -> int:
        """Number of outcomes per model."""
        if self.trial_counts:
            return sum(samples * trials for samples, trials in self.trial_counts)
        return self.landed or self.records * self.tries


class PlanOutline(Struct, frozen=True, kw_only=True):
    """Every task of a plan."""

    tasks: tuple[TaskOutline, ...]
    models: tuple[str, ...]
    """The models that are evaluated."""
    path: str = ""
    """The project, if there is one."""
    evaluation: str = ""
    """The key of the evaluation, if there is one."""
    limit: int | None = None
    trials: int | None = None
    """Trials per sample, as set by the command. Default: the task's setting."""
    ranking: Ranking = "per_task"
    """Whether models are ranked over the samples of all tasks together, or task by task."""

    @property
    def sources(self) -> list[str]:
        """The paths that the plan was compiled from."""
        return [self.path] if self.path else [task.path for task in self.tasks]

    @property
    def noun(self) -> str:
        """What a job is called: a sample, or a trial if there are several."""
        return "trials" if any(task.tries > 1 for task in self.tasks) else "samples"

    @property
    def total(self) -> int:
        """The number of jobs."""
        return sum(task.jobs * len(task.models) for task in self.tasks)

    def task(self, name: str) -> TaskOutline | None:
        """Return the task with this name."""
        return next((task for task in self.tasks if task.name == name), None)
