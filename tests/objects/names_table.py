"""Every name that snippets may import, with fields of an object of each class."""

from typing import Any

USAGE = {"num_completion_tokens": 1, "num_prompt_tokens": 3}
TEXT = {"type": "input_text", "text": "q"}
ANSWER_TEXT = {"type": "output_text", "text": "a"}
USER = {"type": "message", "id": "m1", "status": "completed", "role": "user", "content": [TEXT]}
ASSISTANT = {**USER, "id": "m2", "role": "assistant", "content": [ANSWER_TEXT]}
SYSTEM = {**USER, "id": "m0", "role": "system"}
CALL = {
    "type": "function_call",
    "id": "f1",
    "call_id": "c1",
    "name": "search",
    "arguments": '{"q": "x"}',
    "status": "completed",
}
CALL_OUTPUT = {
    "type": "function_call_output",
    "id": "o1",
    "call_id": "c1",
    "output": "42",
    "status": "completed",
}
CHAT_MESSAGE = {"role": "assistant", "content": "a", "refusal": None}
CHAT_INPUT = {"role": "user", "content": "q"}
CHOICE = {"message": CHAT_MESSAGE}
COMPLETION = {"choices": [CHOICE], "usage": USAGE}
RAG_CHOICE = {**CHOICE, "references": [{"content": "an atlas"}]}
JSON_SCHEMA = {"name": "n", "strict": True, "schema_dict": {"type": "object"}}
DIRECT_IO = {"direct_input": {"body": "{}"}, "direct_output": {"body": "{}", "status_code": 200}}
TRACE = {"items": [SYSTEM, USER, CALL, CALL_OUTPUT, ASSISTANT], "metadata": {"agent": "a"}}
SOLVER_TRACE = {"trace": TRACE, "raw_outputs": [COMPLETION], "direct_ios": [DIRECT_IO]}
SINGLE = {"messages": [CHAT_INPUT, CHAT_MESSAGE], "output": COMPLETION}
EVENT = {
    "id": "e1",
    "span_id": "s1",
    "timestamp": "2026-05-12T10:00:00+00:00",
    "metadata": {"k": 1},
}
ERROR = {"error_type": "KeyError", "message": "x", "stage": "score"}
SCORES = {"scorer_key": "python", "values": {"ok": True}, "metadata": {"why": "so"}}
TRIAL = {
    "index": 0,
    "sample_id": 7,
    "sample": {"data": {"q": "x"}},
    "errors": [ERROR],
    "solver": {"output": SOLVER_TRACE},
    "scores": [SCORES],
}
ACTION = {"action": "exclude_from_metrics", "rule_key": "r"}
SAMPLE = {
    **{name: value for name, value in TRIAL.items() if name != "index"},
    "action_records": [ACTION],
    "trials": [TRIAL],
}
METRIC = {"values": {"mean": 0.5}, "metric_key": "mean", "scorer_key": "python"}
TOKENS = {"model_id": 1, "purpose": "judge", "prompt_tokens": 2, "completion_tokens": 3}
RUN = {"index": 0, "metrics": [METRIC], "samples": [SAMPLE], "errors": [ERROR]}
EVIDENCE = {
    "metrics": [METRIC],
    "samples": [SAMPLE],
    "runs": [RUN],
    "errors": [ERROR],
    "failures": {"num_errors": 1, "num_total": 2},
    "model_token_usages": [TOKENS],
}
EXECUTION = {"runtime": 1.5, "started_at": 1, "ended_at": 2}
SPECIFICATION = {"display_name": "T", "task": {"key": "t"}, "config": {}, "run_config": {}}
JUDGED = {"sample": {"q": "x"}, "solver_output": SOLVER_TRACE}
JUDGED_CHAT = {**JUDGED, "messages": [CHAT_INPUT], "model_output": COMPLETION}

CLASSES: dict[str, dict[str, Any]] = {
    "ActionRecord": ACTION,
    "AssistantMessage": ASSISTANT,
    "BaseTraceEvent": EVENT,
    "ChatCompletionInput": {
        "messages": [CHAT_INPUT, CHAT_MESSAGE],
        "response_format": {"type": "json_schema", "json_schema": JSON_SCHEMA},
    },
    "ChatCompletionInputMessage": {
        "role": "user",
        "content": [{"type": "file", "file": {"file_id": "f"}}],
    },
    "ChatCompletionJSONSchema": JSON_SCHEMA,
    "ChatCompletionJudgeInput": {**JUDGED_CHAT, "input_prompt": "a"},
    "ChatCompletionModelOutput": COMPLETION,
    "ChatCompletionModelOutputChoice": CHOICE,
    "ChatCompletionOutputMessage": CHAT_MESSAGE,
    "ChatCompletionResponseFormatJSONSchema": {"type": "json_schema", "json_schema": JSON_SCHEMA},
    "ChatCompletionResponseFormatText": {"type": "text"},
    "CompactionEvent": {**EVENT, "strategy": "trim", "tokens_before": 9, "tokens_after": 3},
    "CustomEvent": {**EVENT, "name": "n", "data": {"x": [1]}},
    "CustomTaskInputMessage": {"content": {"x": 1}},
    "CustomTaskOutputMessage": {"content": [1, {"y": 2}]},
    "DirectModelIO": DIRECT_IO,
    "EmbeddingsModelOutput": {"embeddings": [[0.5, 1.0]], "usage": USAGE},
    "ErrorEvent": {**EVENT, "message": "m", "traceback": "t"},
    "FieldMetadata": {"display_name": "D", "primary": False},
    "FileContentItem": {"type": "file", "file": {"file_id": "f"}},
    "FileRef": {"file_id": "f"},
    "FunctionCall": CALL,
    "FunctionCallEvent": {
        **EVENT,
        "call_id": "c1",
        "function": "search",
        "arguments": "{}",
        "result": [TEXT],
        "status": "completed",
        "working_time": 0.5,
        "model_call_id": "k",
    },
    "FunctionCallOutput": CALL_OUTPUT,
    "GroupedSolverOutput": {"solver_outputs": [SINGLE]},
    "GroupedSolverTrace": {"solver_outputs": {"first": SOLVER_TRACE}},
    "InputFileContent": {"filename": "a.pdf", "file_url": "file:a.pdf"},
    "InputImageContent": {"image_url": "data:,", "detail": "low"},
    "InputTextContent": TEXT,
    "JudgeInput": {"sample": {"q": "x"}},
    "LFBaseModel": {},
    "LogProb": {
        "token": "a",
        "logprob": -0.5,
        "bytes": [97],
        "top_logprobs": [{"token": "b", "logprob": -1.0, "bytes": [98]}],
    },
    "Message": {**USER, "role": "developer"},
    "MessageEvent": {**EVENT, "item": USER, "model_call_id": "k"},
    "MetricData": METRIC,
    "ModelCallEvent": {
        **EVENT,
        "model": "m",
        "input_context": [USER],
        "output_items": [CALL],
        "usage": USAGE,
        "tools": ["search"],
        "total_time": 1.0,
    },
    "ModelEndpointInput": {"body": "{}"},
    "ModelEndpointOutput": {"body": "{}", "status_code": 200, "headers": {"x": "y"}},
    "ModelResponse": {"raw_output": COMPLETION, "items": [ASSISTANT]},
    "ModelTokenUsage": TOKENS,
    "ModelUsage": USAGE,
    "OpenResponsesModelOutput": {"items": [CALL, ASSISTANT], "usage": USAGE},
    "OutputTextContent": {
        "text": "a",
        "annotations": [
            {"type": "url_citation", "url": "u", "start_index": 0, "end_index": 1, "title": "t"},
            {"type": "text_citation", "content": "c"},
        ],
    },
    "PolicyRuleMetricsInput": {
        "evaluation_key": "e",
        "evaluation_run_id": "1",
        "task_result_id": "2",
        "task_specification_key": "t",
        "task_specification_display_name": "T",
        "scorer_key": None,
        "metric_key": "m",
        "values": {"mean": 1},
    },
    "RAGCompletionInput": {"messages": [CHAT_INPUT], "response_format": {"type": "text"}},
    "RAGCompletionInputMessage": CHAT_INPUT,
    "RAGCompletionModelOutputChoice": RAG_CHOICE,
    "RAGCompletionOutput": {"choices": [RAG_CHOICE], "usage": USAGE},
    "RAGCompletionOutputMessage": CHAT_MESSAGE,
    "RAGReference": {"content": "an atlas"},
    "ReasoningTextContent": {"text": "hm"},
    "RefusalContent": {"refusal": "no"},
    "RuleEvaluationResult": {"passed": False, "reason": "0.4 < 0.8"},
    "RunEvidence": RUN,
    "SampleData": {"data": {"q": "x"}},
    "SampleEvidence": SAMPLE,
    "SampleScore": {"values": {"ok": 1}, "metadata": {"m": 2}, "direct_ios": [DIRECT_IO]},
    "SampleTrialEvidence": TRIAL,
    "ScoresData": SCORES,
    "Secret": {"name": "TOKEN"},
    "SingleSolverJudgeInput": JUDGED_CHAT,
    "SingleSolverOutput": SINGLE,
    "SolverData": {"output": SOLVER_TRACE},
    "SolverJudgeInput": JUDGED,
    "SolverTrace": SOLVER_TRACE,
    "SolverTraceJudgeInput": {"sample": {}, "trace": TRACE, "model_outputs": [COMPLETION]},
    "SpanBeginEvent": {**EVENT, "name": "plan", "parent_span_id": "s0", "span_type": "agent"},
    "SpanEndEvent": EVENT,
    "SummaryTextContent": {"text": "s"},
    "SystemMessage": SYSTEM,
    "SystemTaskMetricEntry": {"value": 3, "reason": "see the register"},
    "SystemTaskOutput": {"metrics": {"open findings": {"value": 3}}},
    "TLSContext": {"validation_context": {"trusted_ca": "x"}},
    "TaskExecution": {**EXECUTION, "model_usage": {"calls": 1}},
    "TaskResultError": {**ERROR, "hint": "h"},
    "TaskResultEvidence": EVIDENCE,
    "TaskResultFailures": {"num_errors": 1, "num_total": 2},
    "TaskResultLog": {
        "format_version": "v1",
        "app_version": "1",
        "status": "success",
        "evidence": EVIDENCE,
        "specification": SPECIFICATION,
        "execution": EXECUTION,
        "errors": [ERROR],
    },
    "TaskResultSpecification": {**SPECIFICATION, "evaluated_entity": {"key": "m"}},
    "TextCitationBody": {"content": "c"},
    "TopLogProb": {"token": "b", "logprob": -1.0, "bytes": [98]},
    "Trace": {**TRACE, "events": [{**EVENT, "type": "span_end"}], "span_id": "s1"},
    "TraceMetadata": {"trace_id": "t", "tags": ["x"], "created_at": "2026-05-12T10:00:00+00:00"},
    "Turn": {"user_message": USER, "assistant_items": [CALL, CALL_OUTPUT, ASSISTANT]},
    "UrlCitationBody": {"url": "u", "start_index": 0, "end_index": 1, "title": "t"},
    "UserMessage": USER,
}
"""Names of classes, with fields that construct one."""

PARENTS = {
    "AssistantMessage": "Message",
    "ChatCompletionJudgeInput": "SingleSolverJudgeInput",
    "CompactionEvent": "BaseTraceEvent",
    "CustomEvent": "BaseTraceEvent",
    "ErrorEvent": "BaseTraceEvent",
    "FunctionCallEvent": "BaseTraceEvent",
    "MessageEvent": "BaseTraceEvent",
    "ModelCallEvent": "BaseTraceEvent",
    "RAGCompletionModelOutputChoice": "ChatCompletionModelOutputChoice",
    "SingleSolverJudgeInput": "SolverJudgeInput",
    "SolverJudgeInput": "JudgeInput",
    "SolverTraceJudgeInput": "JudgeInput",
    "SpanBeginEvent": "BaseTraceEvent",
    "SpanEndEvent": "BaseTraceEvent",
    "SystemMessage": "Message",
    "UserMessage": "Message",
}
_PROGRESS = {"in_progress": "in_progress", "completed": "completed", "incomplete": "incomplete"}
ENUMS: dict[str, dict[str, str]] = {
    "FunctionCallOutputStatusEnum": _PROGRESS,
    "FunctionCallStatus": _PROGRESS,
    "MessageRole": {name: name for name in ("user", "assistant", "system", "developer")},
    "MessageStatus": _PROGRESS,
    "ModelTokenUsagePurpose": {
        "TEST": "test",
        "JUDGE": "judge",
        "GENERATE": "generate",
        "AUXILIARY": "auxiliary",
    },
    "TaskResultDataStatus": {
        "PENDING": "pending",
        "CANCELLED": "cancelled",
        "SUCCESS": "success",
        "FAILED": "failed",
    },
}
TYPES: dict[str, tuple[Any, Any]] = {
    "ChatCompletionModelProtocol": (None, None),
    "ChatCompletionResponseFormat": ({"type": "text"}, 3),
    "ConversationItem": (USER, 3),
    "CustomTaskModelInput": ({"x": 1}, None),
    "CustomTaskModelInputMessage": ({"x": 1}, None),
    "CustomTaskModelOutput": ({"x": 1}, None),
    "CustomTaskModelOutputMessage": ({"x": 1}, None),
    "EmbeddingsModelInput": (["a"], [1]),
    "EmbeddingsModelInputMessage": (["a"], [1]),
    "EmbeddingsModelOutputMessage": ([[0.5]], ["a"]),
    "InputMessageContent": ("text", 3),
    "JSONType": ({"x": [None]}, {1, 2}),
    "LFInputMessage": (CHAT_INPUT, None),
    "LFMessage": (CHAT_MESSAGE, None),
    "LFModelInput": ({"messages": [CHAT_INPUT]}, None),
    "LFModelOutput": (COMPLETION, None),
    "LFOutputMessage": (CHAT_MESSAGE, None),
    "LFSample": ({"q": 1}, ["q"]),
    "MetricValues": ({"mean": 0.5}, {"mean": "x"}),
    "ModelProtocol": (None, None),
    "RAGCompletionModelProtocol": (None, None),
    "RawSample": ({"q": 1}, ["q"]),
    "RawSampleMapping": ({"a": {"q": 1}}, {"a": 1}),
    "RawSamplesMapping": ({"a": [{"q": 1}]}, {"a": {"q": 1}}),
    "Role": ("user", "tool"),
    "RuleDefinition": ({"type": "exists"}, {"type": "x"}),
    "RuleScope": ({"metric_keys": ["m"]}, 3),
    "SampleErrors": ({1: KeyError("x")}, {"a": 1}),
    "ScoreMetadata": ({"m": 1}, 3),
    "ScoreValues": ({"ok": True}, 3),
    "SolverOutput": (SOLVER_TRACE, 3),
    "TraceEvent": ({**EVENT, "type": "span_end"}, {"type": "span_end"}),
    "TraceFormat": ("open_responses", "other"),
    "TraceItem": (CALL, {"type": "function_call"}),
}
"""Types: a value that is one and a value that is not; None where JSON has no such value."""

CONSTANTS = {"SYNTHETIC_MESSAGE_ID": "", "SYNTHETIC_MESSAGE_STATUS": "completed"}
EXCEPTIONS = ("TaskResultException",)
FUNCTIONS = (
    *("convert_to_input_message", "derive_items_from_message_events"),
    *("derive_items_from_model_calls", "is_trace_item", "is_valid_key"),
    *("lf_messages_to_trace_items", "messages_to_model_input", "model_input_to_messages"),
    *("model_input_to_trace_items", "model_output_to_message", "model_output_to_trace_items"),
    *("sanitize_key", "sort_events_by_span", "trace_items_to_lf_messages"),
    *("trace_items_to_model_input", "validate_key"),
)
ALL = {*CLASSES, *ENUMS, *TYPES, *CONSTANTS, *EXCEPTIONS, *FUNCTIONS}
