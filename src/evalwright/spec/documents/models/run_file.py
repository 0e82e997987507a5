"""`run.yaml`: a whole project in one file, with the evaluation to run.

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

Each list entry is checked as a document of its kind, and errors report its own file and line.
"""

from typing import Any

from pydantic import Field

from evalwright.components import Component, Hidden
from evalwright.spec.documents.models.evaluation import RunConfig


class RunFile(Component):
    """A project's documents, and the settings of its run."""

    secrets: dict[str, Hidden] = Field(default_factory=dict)
    """Values for `<< secrets.NAME >>` in the project's models."""
    model_adapters: list[dict[str, Any]] = Field(default_factory=list)
    """Model adapters."""
    models: list[dict[str, Any]] = Field(default_factory=list)
    """Models, as documents or as `$provider: provider/model`."""
    dataset_generators: list[dict[str, Any]] = Field(default_factory=list)
    """Dataset generators."""
    datasets: list[dict[str, Any]] = Field(default_factory=list)
    """Datasets."""
    tasks: list[dict[str, Any]] = Field(default_factory=list)
    """Tasks."""
    evaluation: dict[str, Any] | None = None
    """Evaluation to run. Default: every task."""
    config: dict[str, Any] = Field(default_factory=dict)
    """Values for the evaluation's parameters, by key."""
    run_config: RunConfig = RunConfig()
    """Number of samples, number of trials and cache policy."""
    policies: Any = None
    """Policies that the run's metrics must meet, inline or as `$ref`. If one fails, `evalwright
    run` exits with status 1. `evalwright gate` checks the policies again."""


class ConfigFile(Component):
    """The file for `--config FILE`."""

    config: dict[str, Any] = Field(default_factory=dict)
    """Values for the evaluation's parameters, by key."""
    run_config: RunConfig = RunConfig()
    """Number of samples, number of trials and cache policy."""
