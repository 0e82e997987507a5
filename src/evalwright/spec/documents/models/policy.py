"""A policy: rules that a run's metrics must meet.

    key: release
    display_name: "Release"
    rules:
      - key: accurate
        definition: { type: threshold, metric: is_correct_mean, operator: ">=", threshold: 0.8 }
        scope: { task_specification_keys: [capitals] }
      - key: measured
        definition: { type: exists, metric: bleu_score_mean }

A rule without a scope applies to the run being checked. A policy is not part of the run's plan, so
you can change a threshold without new model calls.
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
"""Other spellings of the operators."""
Keys = Annotated[list[Title], Field(min_length=1)]


def _check_operator(value: Any) -> Any:
    if value in OPERATORS:
        return value
    expected = f"expected one of {quote_names(OPERATORS)}"
    if not isinstance(value, str):
        raise ValueError(f"{expected}, in quotes")  # noqa: TRY004 - the author's error
    if not value.strip():
        raise ValueError(
            f'{expected}; `>` alone starts a text block in YAML: put it in quotes, ">"'
        )
    meant = _MEANT.get(value.strip().lower())
    raise ValueError(f"{expected}, got `{value}`" + (f"; did you mean `{meant}`?" if meant else ""))


def _check_number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got `{str(value).lower()}`")  # noqa: TRY004 - the author's error
    return value


Operator = Annotated[Literal[">", ">=", "=", "<", "<="], BeforeValidator(_check_operator)]
Threshold = Annotated[float, BeforeValidator(_check_number), Field(allow_inf_nan=False)]


class ExistsDefinition(Component):
    """Requires that the metric has at least one value."""

    type: Literal["exists"]
    """Kind of rule."""
    metric: Title
    """Name of a metric value, as shown in reports or set in the metric, or, if no value has this
    name, the key of a metric in the task."""


class ThresholdDefinition(Component):
    """Requires that the metric has at least one value, and that all its values meet a threshold."""

    type: Literal["threshold"]
    """Kind of rule."""
    metric: Title
    """Name of a metric value, as shown in reports or set in the metric, or, if no value has this
    name, the key of a metric in the task."""
    operator: Operator
    """Comparison operator. Put it in quotes, because `>` starts a text block in YAML."""
    threshold: Threshold
    """Threshold. Values within 1e-9 of the threshold count as equal."""


RuleDefinition = Annotated[ExistsDefinition | ThresholdDefinition, Field(discriminator="type")]


class Scope(Component):
    """The metric values that a rule applies to. They must match all specified lists.

    Metrics of `qa` scorers are included only if `scorer_keys` lists their scorer.
    """

    evaluation_keys: Keys | None = None
    """Evaluations. The latest finished run of each is used. Default: the run being checked."""
    task_specification_keys: Keys | None = None
    """Task specifications. For task records, the file names without their extensions."""
    scorer_keys: Keys | None = None
    """Scorers, by key."""
    metric_keys: Keys | None = None
    """Metrics, by key."""


def _scope_tag(value: Any) -> str:
    return "keys" if isinstance(value, dict | Scope) else ALL_LATEST


AnyScope = Annotated[
    Annotated[Literal["all_latest"], Tag(ALL_LATEST)] | Annotated[Scope, Tag("keys")],
    Discriminator(_scope_tag),
]


class PolicyRule(Component):
    """A condition that must hold."""

    key: UserKey
    """Key of the rule, unique in the policy."""
    display_name: str | None = None
    """Display name. Default: the key."""
    description: str | None = None
    """Description in one sentence."""
    methodology: str | None = None
    """How the threshold was chosen. Not used."""
    definition: RuleDefinition
    """Condition that must hold."""
    scope: AnyScope | None = None
    """Metric values that the rule applies to: `all_latest`, or lists of keys. Default: all values
    of the run."""


class PolicyDocument(Component):
    """A set of rules. The policy passes if all rules hold."""

    key: UserKey
    """Key of the policy."""
    display_name: str | None = None
    """Display name. Default: the key."""
    description: str | None = None
    """Description in one sentence."""
    rules: Annotated[list[PolicyRule], Field(min_length=1)]
    """Rules of the policy."""
