"""`run.yaml`: a whole project in one file, and what to run.

    models:
      - $provider: openai/gpt-4.1-mini
    datasets:
      - $ref: datasets/capitals.yaml
    tasks:
      - $ref: tasks/capital-cities.yaml
    evaluation:
      $ref: evaluations/release-check.yaml
    config:
      model: openai$gpt-4-1-mini
    run_config:
      num_samples: 100

Each entry of a list is checked as a document of its kind, with its own file and line in errors.
"""

from typing import Any

from pydantic import Field

from evalwright.components import Component, Hidden
from evalwright.spec.documents.models.evaluation import RunConfig


class RunFile(Component):
    """The entities of a project, and how to run its evaluation."""

    secrets: dict[str, Hidden] = Field(default_factory=dict)
    """Values of `<< secrets.NAME >>` in the models of the project."""
    model_adapters: list[dict[str, Any]] = Field(default_factory=list)
    """Model adapters."""
    models: list[dict[str, Any]] = Field(default_factory=list)
    """Models: documents, or `$provider: provider/model`."""
    dataset_generators: list[dict[str, Any]] = Field(default_factory=list)
    """Dataset generators."""
    datasets: list[dict[str, Any]] = Field(default_factory=list)
    """Datasets."""
    tasks: list[dict[str, Any]] = Field(default_factory=list)
    """Tasks."""
    evaluation: dict[str, Any] | None = None
    """Evaluation to run. Default: every task."""
    config: dict[str, Any] = Field(default_factory=dict)
    """Values of the evaluation's parameters, by key."""
    run_config: RunConfig = RunConfig()
    """Number of samples, trials, and use of the store."""
    policies: Any = None
    """Policies that the metrics of the run must meet, or `$ref` to policy files. If one fails,
    `evalwright run` exits with 1; `evalwright gate` checks them again."""


class ConfigFile(Component):
    """The file that `--config FILE` names."""

    config: dict[str, Any] = Field(default_factory=dict)
    """Values of the evaluation's parameters, by key."""
    run_config: RunConfig = RunConfig()
    """Number of samples, trials, and use of the store."""
