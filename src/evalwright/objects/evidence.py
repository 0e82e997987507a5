"""The result of a task as snippets and logs know it: metrics, evidence per sample, errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .enums import (
    ActionRuleAction,
    ModelTokenUsagePurpose,
    ScorerPurpose,
    TaskResultErrorStage,
)
from .model import LFBaseModel
from .scores import DirectModelIO
from .solver_trace import SolverOutput


class FieldMetadata(LFBaseModel):
    """How a field is shown."""

    display_name: str | None = None
    description: str | None = None
    primary: bool = True


class ActionRecord(LFBaseModel):
    """An action that was applied to a sample, and the rule that asked for it."""

    action: ActionRuleAction
    rule_key: str


class SampleData(LFBaseModel):
    """The row of a sample."""

    data: dict[str, Any]


class SolverData(LFBaseModel):
    """The output of a solver."""

    output: SolverOutput


class ScoresData(LFBaseModel):
    """The scores of one scorer for one sample."""

    scorer_key: str
    scorer_purpose: ScorerPurpose = ScorerPurpose.SCORE
    scorer_name: str | None = None
    values: dict[str, Any]
    metadata: dict[str, Any] | None = None
    direct_ios: list[DirectModelIO] = []


class MetricData(LFBaseModel):
    """The values of one metric."""

    values: dict[str, float | int]
    metric_key: str
    metric_type: str | None = None
    scorer_name: str | None = None
    scorer_key: str | None = None
    scorer_purpose: ScorerPurpose | None = ScorerPurpose.SCORE
    reason: str | None = None


class TaskResultError(LFBaseModel):
    """What failed, and where."""

    error_type: str
    message: str
    hint: str | None = None
    stage: TaskResultErrorStage | None = None


class TaskResultFailures(LFBaseModel):
    """How many samples failed, of how many."""

    num_errors: int
    num_total: int


class TaskResultException(Exception):
    """An error of a task; `error` describes it."""

    def __init__(self, error: TaskResultError | str) -> None:
        if not isinstance(error, TaskResultError):
            error = TaskResultError(error_type=type(self).__name__, message=str(error))
        super().__init__(error.message)
        self.error = error


class SampleTrialEvidence(LFBaseModel):
    """The evidence of one trial of a sample."""

    index: int
    sample_id: str | int
    sample: SampleData | None
    solver: SolverData | None
    scores: list[ScoresData] | None
    errors: list[TaskResultError]


class SampleEvidence(LFBaseModel):
    """The evidence of one sample: its row, the solver's output, its scores and errors."""

    sample_id: str | int | None
    sample: SampleData | None
    solver: SolverData | None
    scores: list[ScoresData] | None
    action_records: list[ActionRecord] | None = None
    errors: list[TaskResultError]
    trials: list[SampleTrialEvidence] = []

    @classmethod
    def build(
        cls,
        trials: Iterable[SampleTrialEvidence],
        *,
        scores: list[ScoresData] | None = None,
        action_records: list[ActionRecord] | None = None,
    ) -> SampleEvidence:
        """The evidence of a sample from that of its trials; ValueError without a trial.

        Row and output are those of the first trial. `scores` are the scores over all trials;
        without them, those of the first. Errors are those of all trials.
        """
        trials = list(trials)
        if not trials:
            raise ValueError("SampleEvidence.build: expected at least one trial, got none")
        first = trials[0]
        return cls(
            sample_id=first.sample_id,
            sample=first.sample,
            solver=first.solver,
            scores=first.scores if scores is None else scores,
            action_records=action_records,
            errors=[error for trial in trials for error in trial.errors],
            trials=trials,
        )

    @classmethod
    def build_with_1_trial(
        cls,
        *,
        sample_id: str | int,
        sample: SampleData | None = None,
        solver: SolverData | None = None,
        scores: list[ScoresData] | None = None,
        action_records: list[ActionRecord] | None = None,
        errors: Iterable[TaskResultError] = (),
    ) -> SampleEvidence:
        """The evidence of a sample that was tried once."""
        trial = SampleTrialEvidence(
            index=0,
            sample_id=sample_id,
            sample=sample,
            solver=solver,
            scores=scores,
            errors=list(errors),
        )
        return cls.build([trial], action_records=action_records)


class RunEvidence(LFBaseModel):
    """The evidence of one of several runs of the same task."""

    index: int
    metrics: list[MetricData] | None
    samples: list[SampleEvidence] | None = None
    errors: list[TaskResultError] = []
    failures: TaskResultFailures | None = None


class ModelTokenUsage(LFBaseModel):
    """The tokens that one model used, for one purpose."""

    model_id: int
    purpose: ModelTokenUsagePurpose
    prompt_tokens: int
    completion_tokens: int


class TaskResultEvidence(LFBaseModel):
    """Everything that a task measured."""

    metrics: list[MetricData] | None
    samples: list[SampleEvidence] | None = None
    runs: list[RunEvidence] | None = None
    errors: list[TaskResultError] = []
    failures: TaskResultFailures | None = None
    model_token_usages: list[ModelTokenUsage] = []

    @classmethod
    def adapt_metrics_if_needed(cls, metrics: Any) -> Any:
        """Metrics as a list; older logs have an object of values by metric key."""
        if not isinstance(metrics, Mapping):
            return metrics
        return [
            MetricData(metric_key=key, values=values if isinstance(values, dict) else {key: values})
            for key, values in metrics.items()
        ]

    def build_flat_metrics_dict(self) -> dict[str, float | int]:
        """All values by name; one that is not unique gets its metric's key, then its scorer's."""
        flat: dict[str, float | int] = {}
        values = [
            (metric, name, value)
            for metric in self.metrics or ()
            for name, value in metric.values.items()
        ]
        for metric, name, value in values:
            longer = (name, f"{metric.metric_key}_{name}")
            names = [[other, f"{each.metric_key}_{other}"] for each, other, _ in values]
            place = next((n for n in (0, 1) if [x[n] for x in names].count(longer[n]) == 1), None)
            key = f"{metric.scorer_key}_{longer[1]}" if place is None else longer[place]
            flat[key] = value
        return flat


class TaskExecution(LFBaseModel):
    """When a task ran, and what it used."""

    runtime: float
    started_at: int
    ended_at: int
    model_usage: dict[str, Any] | None = None


class TaskResultSpecification(LFBaseModel):
    """What was run: the task, its parameters and what it evaluated, as stored documents."""

    display_name: str
    task: dict[str, Any]
    config: dict[str, Any]
    evaluated_entity: dict[str, Any] | None = None
    run_config: dict[str, Any]
    repeatability_config: dict[str, Any] | None = None


class TaskResultLog(LFBaseModel):
    """The log of one task specification."""

    format_version: Literal["v1"]
    app_version: str
    status: Literal["success", "failure"]
    evidence: TaskResultEvidence | None
    specification: TaskResultSpecification
    execution: TaskExecution
    errors: list[TaskResultError]
