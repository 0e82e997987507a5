"""A policy: rules that the metrics of a run must meet.

    key: release
    display_name: "Release"
    rules:
      - key: accurate
        definition: { type: threshold, metric: is_correct_mean, operator: ">=", threshold: 0.8 }
        scope: { task_specification_keys: [capitals] }
      - key: measured
        definition: { type: exists, metric: bleu_score_mean }

A rule without a scope applies to the run being checked. A policy is not part of the plan: a new
threshold needs no new model calls.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from evalwright.components import Component, Title, UserKey
from evalwright.spec.documents.yaml.problems import quote_names

ALL_LATEST = "all_latest"
OPERATORS = (">", ">=", "=", "<", "<=")
_MEANT = {
    "==": "=",
    "=>": ">=",
    "=<": "<=",
    "≥": ">=",
    "≤": "<=",
    "gt": ">",
    "gte": ">=",
    "ge": ">=",
    "eq": "=",
    "lt": "<",
    "lte": "<=",
    "le": "<=",
}
"""Other spellings."""
Keys = Annotated[list[Title], Field(min_length=1)]


def _check_operator(value: Any) -> Any:
    if value in OPERATORS:
        return value
    expected = f"expected one of {quote_names(OPERATORS)}"
    if not isinstance(value, str):
        raise ValueError(f"{expected}, in quotes")  # noqa: TRY004 - a mistake of the author
    if not value.strip():
        raise ValueError(
            f'{expected}; `>` alone begins a text block in YAML: put it in quotes, ">"'
        )
    meant = _MEANT.get(value.strip().lower())
    raise ValueError(f"{expected}, got `{value}`" + (f"; did you mean `{meant}`?" if meant else ""))


def _check_number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got `{str(value).lower()}`")  # noqa: TRY004 - as above
    return value


Operator = Annotated[Literal[">", ">=", "=", "<", "<="], BeforeValidator(_check_operator)]
Threshold = Annotated[float, BeforeValidator(_check_number), Field(allow_inf_nan=False)]


class ExistsDefinition(Component):
    """The metric was measured: it has at least one value."""

    type: Literal["exists"]
    """Kind of rule."""
    metric: Title
    """Name of a metric value, as reports or its metric name it. If no value has this name:
    the key of the metric in the task."""


class ThresholdDefinition(Component):
    """The metric was measured, and all its values meet a threshold."""

    type: Literal["threshold"]
    """Kind of rule."""
    metric: Title
    """Name of a metric value, as reports or its metric name it. If no value has this name:
    the key of the metric in the task."""
    operator: Operator
    """How a value must compare with the threshold. Quote it: `>` begins a text block in YAML."""
    threshold: Threshold
    """Threshold. Values within 1e-9 of it count as equal."""


RuleDefinition = Annotated[ExistsDefinition | ThresholdDefinition, Field(discriminator="type")]


class Scope(Component):
    """Which metric values a rule applies to: those that match every list. Without a list, all.

    Values of checks (`purpose: qa`) count only where `scorer_keys` names their scorer.
    """

    evaluation_keys: Keys | None = None
    """Evaluations; the latest finished run of each is used. Default: the run being checked."""
    task_specification_keys: Keys | None = None
    """Task specifications; for task records, the file names without extension."""
    scorer_keys: Keys | None = None
    """Scorers."""
    metric_keys: Keys | None = None
    """Metrics, by key."""


def _scope_tag(value: Any) -> str:
    return "keys" if isinstance(value, dict | Scope) else ALL_LATEST


AnyScope = Annotated[
    Annotated[Literal["all_latest"], Tag(ALL_LATEST)] | Annotated[Scope, Tag("keys")],
    Discriminator(_scope_tag),
]


class PolicyRule(Component):
    """One condition that must hold."""

    key: UserKey
    """Key of the rule, unique in the policy."""
    display_name: str | None = None
    """Display name. Default: the key."""
    description: str | None = None
    """Description, in one sentence."""
    methodology: str | None = None
    """How the threshold was chosen; not used."""
    definition: RuleDefinition
    """The condition."""
    scope: AnyScope | None = None
    """Metric values that it applies to: `all_latest`, or keys. Default: all values of the run."""


class PolicyDocument(Component):
    """A set of rules; it passes if all rules hold."""

    key: UserKey
    """Key of the policy."""
    display_name: str | None = None
    """Display name. Default: the key."""
    description: str | None = None
    """Description, in one sentence."""
    rules: Annotated[list[PolicyRule], Field(min_length=1)]
    """The condition."""
