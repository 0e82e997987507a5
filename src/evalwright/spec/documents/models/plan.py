"""An assessment plan: several evaluations, with values for their parameters.

    key: release
    display_name: Release check
    evaluation_specifications:
      - key: small
        evaluation_key: safety
        evaluation_config:
          model: openai$gpt-4-1-mini
        evaluation_run_config:
          num_samples: 50
      - evaluation_key: quality

The old syntax is `evaluations`, a list of whole run files, inline or as `$ref`.

    evaluations:
      - $ref: evaluations/safety.yaml
      - tasks: [{$ref: tasks/quality.yaml}]
        evaluation: {…}
        config: {model: openai$gpt-4-1-mini}

`evalwright run FILE` runs all evaluations as one run.
"""

from typing import Any

from pydantic import Field

from evalwright.components import Component, Title, UserKey
from evalwright.spec.documents.models.evaluation import RunConfig
from evalwright.spec.documents.models.run_file import RunFile


class EvaluationSpecification(Component):
    """One evaluation in a plan, with values for its parameters."""

    key: UserKey | None = None
    """Key in the plan. Default: the evaluation's key, with a number if it is used more than
    once."""
    evaluation_key: UserKey
    """Key of the evaluation."""
    display_name: str | None = None
    """Display name."""
    evaluation_config: dict[str, Any] = Field(default_factory=dict)
    """Values for the evaluation's parameters, by key."""
    evaluation_run_config: RunConfig = RunConfig()
    """Number of samples, number of trials and cache policy."""


class PlanDocument(Component):
    """A plan: evaluations to run together."""

    key: UserKey
    """Key of the plan."""
    display_name: Title
    """Display name."""
    description: str = ""
    """Description in one sentence."""
    long_description: str | None = None
    """Long description in Markdown."""
    evaluation_specifications: list[EvaluationSpecification] = Field(default_factory=list)
    """Evaluations to run, by key."""
    evaluations: list[RunFile] = Field(default_factory=list)
    """Old syntax: run files whose evaluations are run."""
    tags: list[str] = Field(default_factory=list)
    """Tags for searching."""
