"""An assessment plan: several evaluations, each with its values.

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

The older form has `evaluations` instead: whole run files, written there or as `$ref`.

    evaluations:
      - $ref: evaluations/safety.yaml
      - tasks: [{$ref: tasks/quality.yaml}]
        evaluation: {…}
        config: {model: openai$gpt-4-1-mini}

`evalwright run FILE` runs all of them as one run.
"""

from typing import Any

from pydantic import Field

from evalwright.components import Component, Title, UserKey
from evalwright.spec.documents.models.evaluation import RunConfig
from evalwright.spec.documents.models.run_file import RunFile


class EvaluationSpecification(Component):
    """One evaluation of a plan, with its values."""

    key: UserKey | None = None
    """Key in the plan. Default: the key of the evaluation, with a number if it repeats."""
    evaluation_key: UserKey
    """Key of the evaluation."""
    display_name: str | None = None
    """Name that is shown."""
    evaluation_config: dict[str, Any] = Field(default_factory=dict)
    """Values of the evaluation's parameters, by key."""
    evaluation_run_config: RunConfig = RunConfig()
    """Number of samples, trials, and use of the store."""


class PlanDocument(Component):
    """Evaluations to run together, each with its values."""

    key: UserKey
    """Key of the plan."""
    display_name: Title
    """Name that is shown."""
    description: str = ""
    """Description, in a sentence."""
    long_description: str | None = None
    """Long description, in Markdown."""
    evaluation_specifications: list[EvaluationSpecification] = Field(default_factory=list)
    """Evaluations to run, by key."""
    evaluations: list[RunFile] = Field(default_factory=list)
    """Run files whose evaluations are run; the older form."""
    tags: list[str] = Field(default_factory=list)
    """Tags to search by."""
