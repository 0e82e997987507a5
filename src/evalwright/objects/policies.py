"""Rules over metrics, and what models need to connect, as snippets know them.

The parts of a rule are not published; their fields here are those of evalwright's policy documents.
"""

from __future__ import annotations

from typing import Any, Literal

from .model import LFBaseModel


class PolicyRuleMetricsInput(LFBaseModel):
    """The values of one metric, as a rule sees them."""

    evaluation_key: str
    evaluation_run_id: str
    task_result_id: str
    task_specification_key: str
    task_specification_display_name: str
    scorer_key: str | None
    metric_key: str
    values: dict[str, int | float]


class ExistsRuleDefinition(LFBaseModel):
    """The metric was measured."""

    type: Literal["exists"] = "exists"
    metric: str | None = None


class ThresholdRuleDefinition(LFBaseModel):
    """The metric was measured, and all its values meet a threshold."""

    type: Literal["threshold"] = "threshold"
    metric: str
    operator: Literal[">", ">=", "<", "<=", "="]
    threshold: float


RuleDefinition = ExistsRuleDefinition | ThresholdRuleDefinition


class PolicyRuleSimpleScope(LFBaseModel):
    """A rule applies to the latest results."""

    type: Literal["all_latest"] = "all_latest"


class PolicyRuleFinegrainedScope(LFBaseModel):
    """A rule applies to what matches every list; without a list, to all."""

    evaluation_keys: list[str] | None = None
    task_specification_keys: list[str] | None = None
    scorer_keys: list[str] | None = None
    metric_keys: list[str] | None = None


RuleScope = PolicyRuleSimpleScope | PolicyRuleFinegrainedScope


class RuleEvaluationResult(LFBaseModel):
    """Whether a rule holds, and why."""

    passed: bool
    reason: str | None = None
    inputs: list[PolicyRuleMetricsInput] = []


class Secret(LFBaseModel):
    """A secret, by its name."""

    name: str


class CertificateValidationContext(LFBaseModel):
    """How the certificate of a server is checked."""

    trusted_ca: Any = None


class TLSContext(LFBaseModel):
    """How a connection is encrypted."""

    validation_context: CertificateValidationContext | None = None
