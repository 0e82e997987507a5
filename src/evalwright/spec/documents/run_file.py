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
from evalwright.spec.documents.evaluation import RunConfig, run_config_rules
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.model import Hidden


class RunFile(Component):
    """The entities of a project, and how to run its evaluation."""

    secrets: dict[str, Hidden] = Field(default_factory=dict)
    """What `<< secrets.NAME >>` stands for, in the models of the project."""

    model_adapters: list[dict[str, Any]] = Field(default_factory=list)
    """Adapters of models."""

    models: list[dict[str, Any]] = Field(default_factory=list)
    """Models: documents, or `$provider: provider/model`."""

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


class ConfigFile(Component):
    """What `--config FILE` gives to a run."""

    config: dict[str, Any] = Field(default_factory=dict)
    """The values of the evaluation's parameters, by their keys."""

    run_config: RunConfig = RunConfig()
    """How many samples, and what is taken from the store."""


_LATER = ("policies", "dataset_generators")


def run_file_rules(data: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The data without what is not supported yet, and a word about that."""
    kept = {key: data[key] for key in data if key not in _LATER}
    faults = [
        Fault((key,), "unsupported", f"`{key}` is not supported by this version", at_key=True)
        for key in _LATER
        if data.get(key)
    ]
    if "run_config" in kept:
        kept["run_config"], more = run_config_rules(kept["run_config"], ("run_config",))
        faults += more
    return kept, faults
