"""A task: its samples, how a model answers them, and how the answers are scored.

    key: capital-cities
    display_name: "Capital cities"
    description: "Does the model know the capitals of the world?"
    definition:
      dataset: { key: capitals }
      solver:
        type: single_turn_solver
        input_builder:
          type: chat_completion
          input_messages:
            - { role: user, content: "What is the capital of {{ sample.country }}?" }
      scorers:
        - { type: string_equals, ground_truth: "{{ sample.capital }}" }

A task with a solver evaluates a model, one without evaluates a dataset, and a `system_task`
evaluates whatever its snippet looks at. These classes define single fields; rules between fields
are in `checks.task_rules`, so they are reported even if a field is wrong.
"""

from typing import Annotated, Literal

from pydantic import Field

from evalwright.components import Component, Snippet, Title, UserKey
from evalwright.rules.filters import ActionRule
from evalwright.scorers.base import AnyScorer
from evalwright.solvers.base import AnySolver
from evalwright.spec.documents.models.parameters import AnyParameter
from evalwright.spec.documents.models.trials import TrialsDefinition
from evalwright.types import MLTask

Evaluated = Literal["model", "dataset", "system"]
"""What a task evaluates."""


class DatasetTemplate(Component):
    """Where the samples of a task come from."""

    key: Title | None = None
    """Key of the dataset; with `source: task_result`, of the task specification."""
    keys: list[Title] | None = Field(default=None, min_length=1)
    """Several datasets, joined row by row: a sample is a mapping from the name of the
    parameter to that dataset's row."""
    source: Literal["dataset", "task_result"] = "dataset"
    """`task_result`: the rows are the results of another task specification."""
    fast_subset_size: int | str | None = None
    """Deprecated; has no effect."""


class BenchmarkTask(Component):
    """A task with samples, a solver that answers them, and scorers that judge the answers."""

    type: Literal["benchmark_task"] = "benchmark_task"
    """Kind of task. `declarative_task` is its old name."""
    evaluated_entity_type: Literal["model", "dataset"] = "model"
    """What is evaluated. Default: a model if there is a solver, otherwise a dataset."""
    dataset: DatasetTemplate | None = None
    """Where the samples come from. A task that evaluates a dataset may omit it: then the
    task specification names the dataset, as `dataset_key`."""
    solver: AnySolver | None = None
    """Solver that answers the samples. Required to evaluate a model; without a solver, the task
    evaluates a dataset."""
    scorers: list[AnyScorer] = Field(default_factory=list)
    """Scorers that judge the answers, or the rows."""
    trials: TrialsDefinition | None = None
    """Number of trials per sample, and how they are combined into one score. Default: one trial."""
    actions: list[ActionRule] | None = None
    """Rules that exclude samples from the metrics."""


class SystemTask(Component):
    """A check of something that has no samples."""

    type: Literal["system_task"]
    """Kind of task."""
    compute_evidence_snippet: Snippet
    """Python that defines `compute_evidence()`. It returns
    `{"metrics": {name: {"value": number, "reason": text}}}`."""


TaskDefinition = Annotated[BenchmarkTask | SystemTask, Field(discriminator="type")]


class TaskDocument(Component):
    """A task, with the values of its parameters filled in."""

    key: UserKey
    """Key by which evaluations refer to it."""
    display_name: Title
    """Display name."""
    description: str
    """Description, in one sentence."""
    long_description: str | None = None
    """Long description, in Markdown; usually `!include README.md`."""
    tasks: list[MLTask] = Field(default_factory=list)
    """Kinds of requests that a model must answer. Empty: any."""
    evaluated_entity_type: Literal["model", "dataset"] | None = None
    """Deprecated: write it in the definition."""
    config_spec: list[AnyParameter] = Field(default_factory=list)
    """Parameters. Anywhere below, `<< config.NAME >>` is replaced by the value."""
    definition: TaskDefinition
    """How the task runs."""
    tags: list[str] = Field(default_factory=list)
    """Tags to search by."""

    @property
    def evaluates(self) -> Evaluated:
        """What the task is about."""
        if isinstance(self.definition, SystemTask):
            return "system"
        return self.definition.evaluated_entity_type
