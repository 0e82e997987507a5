"""What snippets may import, and the module of this folder that defines each name.

`latticeflow.core.dtypes` and, in older projects, `latticeflow.assessment.dtypes` have the same
names. A module of this folder is loaded when a name of it is imported.
"""

from __future__ import annotations

DTYPES: dict[str, tuple[str, ...]] = {
    "enums": (
        *("ActionRuleAction", "FunctionCallOutputStatusEnum", "FunctionCallStatus", "ImageDetail"),
        *("MessageRole", "MessageStatus", "ModelTokenUsagePurpose", "ScorerPurpose"),
        *("TaskResultDataStatus", "TaskResultErrorStage"),
    ),
    "events": (
        *("BaseTraceEvent", "CompactionEvent", "CustomEvent", "ErrorEvent", "FunctionCallEvent"),
        *("MessageEvent", "ModelCallEvent", "SpanBeginEvent", "SpanEndEvent", "TraceEvent"),
        *("derive_items_from_message_events", "derive_items_from_model_calls"),
        "sort_events_by_span",
    ),
    "evidence": (
        *("ActionRecord", "FieldMetadata", "MetricData", "ModelTokenUsage", "RunEvidence"),
        *("SampleData", "SampleEvidence", "SampleTrialEvidence", "ScoresData", "SolverData"),
        *("TaskExecution", "TaskResultError", "TaskResultEvidence", "TaskResultException"),
        *("TaskResultFailures", "TaskResultLog", "TaskResultSpecification"),
    ),
    "inputs": (
        *("ChatCompletionInput", "ChatCompletionInputMessage", "ChatCompletionJSONSchema"),
        *("ChatCompletionModelProtocol", "ChatCompletionResponseFormat"),
        *("ChatCompletionResponseFormatJSONSchema", "ChatCompletionResponseFormatText"),
        *("CustomTaskModelInput", "CustomTaskModelInputMessage", "CustomTaskModelOutput"),
        *("CustomTaskModelOutputMessage", "EmbeddingsModelInput", "EmbeddingsModelInputMessage"),
        *("EmbeddingsModelOutputMessage", "FileContentItem", "FileRef", "InputMessageContent"),
        *("LFInputMessage", "LFMessage", "LFModelInput", "LFOutputMessage", "ModelProtocol"),
        *("RAGCompletionInput", "RAGCompletionInputMessage", "RAGCompletionModelProtocol"),
        *("RAGCompletionOutputMessage", "Role", "convert_to_input_message"),
        *("lf_messages_to_trace_items", "messages_to_model_input", "model_input_to_messages"),
        *("model_input_to_trace_items", "model_output_to_message", "model_output_to_trace_items"),
        *("trace_items_to_lf_messages", "trace_items_to_model_input"),
    ),
    "items": (
        *("AssistantMessage", "Content", "ConversationItem", "CustomTaskInputMessage"),
        *("CustomTaskOutputMessage", "FunctionCall", "FunctionCallOutput", "InputFileContent"),
        *("InputImageContent", "InputTextContent", "Item", "LogProb", "Message"),
        *("OutputTextContent", "ReasoningTextContent", "RefusalContent", "SYNTHETIC_MESSAGE_ID"),
        *("SYNTHETIC_MESSAGE_STATUS", "SummaryTextContent", "SystemMessage", "TextCitationBody"),
        *("TopLogProb", "TraceItem", "UrlCitationBody", "UserMessage", "is_trace_item"),
    ),
    "judge_inputs": (
        *("ChatCompletionJudgeInput", "JudgeInput", "SingleSolverJudgeInput", "SolverJudgeInput"),
        "SolverTraceJudgeInput",
    ),
    "keys": ("is_valid_key", "sanitize_key", "validate_key"),
    "model": ("LFBaseModel",),
    "output": (
        *("ChatCompletion", "ChatCompletionModelOutput", "ChatCompletionModelOutputChoice"),
        *("ChatCompletionOutputMessage", "ChatMessage", "EmbeddingsModelOutput", "LFModelOutput"),
        *("ModelUsage", "OpenResponse", "OpenResponsesModelOutput", "RAGReference"),
        *("RAGCompletionModelOutputChoice", "RAGCompletionOutput"),
    ),
    "policies": (
        *("CertificateValidationContext", "ExistsRuleDefinition", "PolicyRuleFinegrainedScope"),
        *("PolicyRuleMetricsInput", "PolicyRuleSimpleScope", "RuleDefinition"),
        *("RuleEvaluationResult", "RuleScope", "Secret", "TLSContext", "ThresholdRuleDefinition"),
    ),
    "scores": (
        *("DirectModelIO", "JSONType", "LFSample", "MetricValues", "ModelEndpointInput"),
        *("ModelEndpointOutput", "RawSample", "RawSampleMapping", "RawSamplesMapping"),
        *("SampleErrors", "SampleScore", "ScoreMetadata", "ScoreValues", "SystemTaskMetricEntry"),
        "SystemTaskOutput",
    ),
    "solver_trace": (
        *("GroupedSolverOutput", "GroupedSolverTrace", "ModelResponse", "SingleSolverOutput"),
        *("SolverOutput", "SolverTrace"),
    ),
    "trace": ("Trace", "TraceFormat", "TraceMetadata", "Turn"),
}
SCORERS: dict[str, tuple[str, ...]] = {
    "scorers": ("ContainsScorer", "ExactMatchScorer", "RegexScorer", "ScorerBase"),
}
MODULES: dict[str, dict[str, tuple[str, ...]]] = {
    "latticeflow": {},
    "latticeflow.assessment": {},
    "latticeflow.assessment.dtypes": DTYPES,
    "latticeflow.core": {},
    "latticeflow.core.dtypes": DTYPES,
    "latticeflow.core.experimental": {},
    "latticeflow.core.experimental.scorers": SCORERS,
}
"""Every module that a snippet finds where the real package is not installed."""


def list_names(module: str) -> list[str]:
    """The names that a module has, in order; for a package, the modules in it."""
    own = [name for names in MODULES[module].values() for name in names]
    inside = [name.removeprefix(f"{module}.") for name in MODULES if name.startswith(f"{module}.")]
    return sorted([*own, *(name for name in inside if "." not in name)])


def find_home(module: str, name: str) -> str | None:
    """The module of this folder that defines a name of a module; None where it has no such name."""
    return next((home for home, names in MODULES[module].items() if name in names), None)
