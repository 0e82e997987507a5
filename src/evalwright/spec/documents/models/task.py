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

A task with a solver evaluates a model. A task without a solver evaluates a dataset. A `system_task`
has no samples: its snippet computes the metrics.
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
"""Entity types that a task can evaluate."""


class DatasetTemplate(Component):
    """The dataset or datasets of a task."""

    key: Title | None = None
    """Key of the dataset or, with `source: task_result`, of the task specification."""
    keys: list[Title] | None = Field(default=None, min_length=1)
    """Keys of several datasets, joined row by row. Each sample maps parameter names to rows of
    their datasets."""
    source: Literal["dataset", "task_result"] = "dataset"
    """`dataset`: rows from a dataset. `task_result`: results of another task specification."""
    fast_subset_size: int | str | None = None
    """Deprecated; has no effect."""


class BenchmarkTask(Component):
    """A task with samples, a solver that answers them, and scorers for the answers."""

    type: Literal["benchmark_task"] = "benchmark_task"
    """Kind of task. The old name is `declarative_task`."""
    evaluated_entity_type: Literal["model", "dataset"] = "model"
    """Type of the evaluated entity. Default: a model if there is a solver, otherwise a dataset."""
    dataset: DatasetTemplate | None = None
    """Dataset of the samples. A task that evaluates a dataset may omit it. In that case, the task
    specification sets `dataset_key`."""
    solver: AnySolver | None = None
    """Solver that answers the samples. Required to evaluate a model. Without a solver, the task
    evaluates a dataset."""
    scorers: list[AnyScorer] = Field(default_factory=list)
    """Scorers of the answers or the rows."""
    trials: TrialsDefinition | None = None
    """Number of trials per sample, and how their scores are combined. Default: one trial."""
    actions: list[ActionRule] | None = None
    """Rules that exclude samples from the metrics."""


class SystemTask(Component):
    """A check without samples."""

    type: Literal["system_task"]
    """Kind of task."""
    compute_evidence_snippet: Snippet
    """Python code that defines `compute_evidence()`. The function returns `{"metrics": {name:
    {"value": number, "reason": text}}}`."""


TaskDefinition = Annotated[BenchmarkTask | SystemTask, Field(discriminator="type")]


class TaskDocument(Component):
    """A task, with its parameters replaced by their values."""

    key: UserKey
    """Key of the task."""
    display_name: Title
    """Display name."""
    description: str
    """Description in one sentence."""
    long_description: str | None = None
    """Long description in Markdown, usually `!include README.md`."""
    tasks: list[MLTask] = Field(default_factory=list)
    """Kinds of requests that the model must support. Default: any."""
    evaluated_entity_type: Literal["model", "dataset"] | None = None
    """Deprecated: write it in `definition`."""
    config_spec: list[AnyParameter] = Field(default_factory=list)
    """Parameters. In the definition, `<< config.NAME >>` is replaced by the value of a
    parameter."""
    definition: TaskDefinition
    """How the task runs."""
    tags: list[str] = Field(default_factory=list)
    """Tags for searching."""

    @property
    def evaluates(self) -> Evaluated:
        """The type of the evaluated entity."""
        if isinstance(self.definition, SystemTask):
            return "system"
        return self.definition.evaluated_entity_type
