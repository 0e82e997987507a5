"""The outline of a plan: what a run's manifest keeps of it, as plain data.

An outline is enough to tell two plans apart, to count what is left to do, and to make the report
again without the files that the plan was compiled from. It is the same for both authoring formats.
"""

from typing import Any, Literal

from msgspec import Struct

from evalwright.types import Issue

NO_MODEL = ""
"""Stands for the model of a task that asks none."""

METRIC_NAMES = "metric_display_names"
"""The key under which the specification of a task has the display names of its metrics."""

CATEGORY = "category"
"""The column of a dataset that says which category a sample is in."""

EvaluatedEntity = Literal["model", "dataset", "system"]
Ranking = Literal["all_tasks", "per_task"]


class PrimaryMetric(Struct, frozen=True, kw_only=True):
    """The metric that models are ranked by: the mean of one score per sample."""

    scorer: str
    field: str
    """The score, by the name that the scorer gives it."""
    metric: str
    """What reports call the metric."""


class TaskOutline(Struct, frozen=True, kw_only=True):
    """One task with its models, its samples and its parameters."""

    name: str
    task_key: str = ""
    display_name: str = ""
    kind: EvaluatedEntity = "model"
    path: str = ""
    """The file that the task was read from, where the task is a file of its own."""
    models: tuple[str, ...] = (NO_MODEL,)
    records: int = 0
    """How many samples it has."""
    trials: int = 1
    """How often each sample is tried; the most, where `trial_counts` says that they differ."""
    trial_counts: tuple[tuple[int, int], ...] = ()
    """How many samples in a row are tried how often; empty where all are tried equally often."""
    repeats: int = 1
    """How often all of it is run. Run r has the trials r·T to r·T + T - 1."""
    landed: int = 0
    """The number of outcomes per model, where an imported result does not follow `trials`."""
    code_exec: int = 0
    """How many samples run code that a model wrote."""
    after: str = ""
    """The task whose results are the samples of this one."""
    values: dict[str, Any] = {}
    """The values of its parameters."""
    digest: str = ""
    """Of the task with its values, and of its data."""
    samples_digest: str = ""
    """Of its samples alone: tasks with the same samples can be compared sample by sample."""
    issues: tuple[Issue, ...] = ()
    """The bad records that were left out."""
    primary: PrimaryMetric | None = None
    finalized: bool = False
    """Whether its metrics are made when its last sample has landed, and are kept with the run.
    Otherwise a report makes them from the stored scores."""

    @property
    def tries(self) -> int:
        """How often each sample is tried in all repeats."""
        return self.trials * self.repeats

    @property
    def jobs(self) -> int:
        """How many outcomes it has per model."""
        if self.trial_counts:
            return sum(samples * trials for samples, trials in self.trial_counts)
        return self.landed or self.records * self.tries


class PlanOutline(Struct, frozen=True, kw_only=True):
    """Every task of a plan."""

    tasks: tuple[TaskOutline, ...]
    models: tuple[str, ...]
    """The models that are evaluated."""
    path: str = ""
    """The project, where there is one."""
    evaluation: str = ""
    """The key of the evaluation, where there is one."""
    limit: int | None = None
    trials: int | None = None
    """Trials per sample that the command asked for; without it, as many as the task says."""
    ranking: Ranking = "per_task"
    """Whether models are ranked over the samples of all tasks together, or task by task."""

    @property
    def sources(self) -> list[str]:
        """The paths that the plan was compiled from."""
        return [self.path] if self.path else [task.path for task in self.tasks]

    @property
    def noun(self) -> str:
        """What a job is: a sample, or one of several trials of it."""
        return "trials" if any(task.tries > 1 for task in self.tasks) else "samples"

    @property
    def total(self) -> int:
        """How many jobs there are."""
        return sum(task.jobs * len(task.models) for task in self.tasks)

    def task(self, name: str) -> TaskOutline | None:
        """The task of that name."""
        return next((task for task in self.tasks if task.name == name), None)
