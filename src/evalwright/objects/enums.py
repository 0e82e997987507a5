"""The values that some fields are limited to. Members are text: `MessageRole.user == "user"`."""

from enum import StrEnum


class MessageRole(StrEnum):
    """The author of a message."""

    user = "user"
    assistant = "assistant"
    system = "system"
    developer = "developer"


class MessageStatus(StrEnum):
    """Whether a message is complete."""

    in_progress = "in_progress"
    completed = "completed"
    incomplete = "incomplete"


class FunctionCallStatus(StrEnum):
    """Whether a call is complete."""

    in_progress = "in_progress"
    completed = "completed"
    incomplete = "incomplete"


class FunctionCallOutputStatusEnum(StrEnum):
    """Whether the output of a call is complete."""

    in_progress = "in_progress"
    completed = "completed"
    incomplete = "incomplete"


class ImageDetail(StrEnum):
    """The resolution at which a model reads an image."""

    low = "low"
    high = "high"
    auto = "auto"


class ModelTokenUsagePurpose(StrEnum):
    """What a model was used for."""

    TEST = "test"
    JUDGE = "judge"
    GENERATE = "generate"
    AUXILIARY = "auxiliary"


class TaskResultDataStatus(StrEnum):
    """The state of a task's result."""

    PENDING = "pending"
    CANCELLED = "cancelled"
    SUCCESS = "success"
    FAILED = "failed"


class TaskResultErrorStage(StrEnum):
    """The part of a run that failed."""

    CONFIGURATION = "configuration"
    DATASET = "dataset"
    SOLVER = "solver"
    SCORE = "score"
    METRIC = "metric"
    ACTION = "action"


class ScorerPurpose(StrEnum):
    """What the scores of a scorer are for."""

    SCORE = "score"
    QA = "qa"


class ActionRuleAction(StrEnum):
    """What a rule does with a sample."""

    EXCLUDE_FROM_METRICS = "exclude_from_metrics"
