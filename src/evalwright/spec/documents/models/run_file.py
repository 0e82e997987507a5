"""`run.yaml`: a whole project in one file, and what to run of it.

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

What stands in the lists is checked as a document of its own kind, with its own places.
"""

from typing import Any

from pydantic import Field

from evalwright.components import Component
from evalwright.spec.documents.models.evaluation import RunConfig
from evalwright.spec.documents.models.model import Hidden


class RunFile(Component):
    """The entities of a project, and how to run its evaluation."""

    secrets: dict[str, Hidden] = Field(default_factory=dict)
    """What `<< secrets.NAME >>` stands for, in the models of the project."""
    model_adapters: list[dict[str, Any]] = Field(default_factory=list)
    """Adapters of models."""
    models: list[dict[str, Any]] = Field(default_factory=list)
    """Models: documents, or `$provider: provider/model`."""
    dataset_generators: list[dict[str, Any]] = Field(default_factory=list)
    """How rows of datasets are made."""
    datasets: list[dict[str, Any]] = Field(default_factory=list)
    """Datasets."""
    tasks: list[dict[str, Any]] = Field(default_factory=list)
    """Tasks."""
    evaluation: dict[str, Any] | None = None
    """The evaluation to run. Without one, every task is run."""
    config: dict[str, Any] = Field(default_factory=dict)
    """The values of the evaluation's parameters, by their keys."""
    run_config: RunConfig = RunConfig()
    """How many samples, and what is taken from the store."""
    policies: Any = None
    """What the figures of the run must be: policies, or `$ref` to files of them. They decide
    whether `evalwright run` ends with 1, and are what `evalwright gate` judges by."""


class ConfigFile(Component):
    """What `--config FILE` gives to a run."""

    config: dict[str, Any] = Field(default_factory=dict)
    """The values of the evaluation's parameters, by their keys."""
    run_config: RunConfig = RunConfig()
    """How many samples, and what is taken from the store."""
