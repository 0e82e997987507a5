"""The tables of the format, as data: of each part, what it must have, may have and knows.

`least` has the required fields, each with a legal value; `defaults` the others, each with what it
is when it is left out; `words` the fields of which only a few words are legal; `keys` those that
are keys of the author's own.
"""

from typing import Any, NamedTuple

from pydantic import BaseModel

from evalwright.metrics.binary_classification import BinaryClassification
from evalwright.metrics.f1_score import F1Score
from evalwright.metrics.frequency import Frequency
from evalwright.metrics.max import Max
from evalwright.metrics.mean import Mean
from evalwright.metrics.min import Min
from evalwright.metrics.multiclass_classification import MulticlassClassification
from evalwright.metrics.precision import Precision
from evalwright.metrics.python import PythonMetric
from evalwright.metrics.recall import Recall
from evalwright.metrics.std_dev import StdDev
from evalwright.metrics.weighted_average import WeightedAverage
from evalwright.rules.filters import ActionRule, FilterComparison, FilterMembership, FilterUnary
from evalwright.scorers.bleu import Bleu
from evalwright.scorers.function_call_coverage import FunctionCallCoverage
from evalwright.scorers.labeler_via_model import LabelerViaModel
from evalwright.scorers.model_as_a_judge_classifier import ModelAsAJudgeClassifier
from evalwright.scorers.model_as_a_judge_scorer import ModelAsAJudgeScorer
from evalwright.scorers.python import PythonScorer
from evalwright.scorers.python_all_samples import PythonAllSamples
from evalwright.scorers.rag_checker import RagChecker
from evalwright.scorers.string_equals import StringEquals
from evalwright.scorers.string_equals_mcqa import StringEqualsMcqa
from evalwright.solvers.base import PythonPostprocessor
from evalwright.solvers.builders import (
    ChatCompletionInputBuilder,
    GenericInputBuilder,
    InputMessage,
)
from evalwright.solvers.grouped_single_turn_solver import GroupedSolver
from evalwright.solvers.multi_turn_solver import (
    ChatMessageBuilder,
    GenerateBuilder,
    GenerateMessageBuilder,
    LoadTraceBuilder,
    LoopBuilder,
    MultiTurnSolver,
    TerminateIf,
)
from evalwright.solvers.pass_through_solver import PassThroughSolver
from evalwright.solvers.python import PythonSolver
from evalwright.solvers.single_turn_solver import SingleTurnSolver
from evalwright.spec.documents.models import parameters
from evalwright.spec.documents.models.task import (
    BenchmarkTask,
    DatasetTemplate,
    SystemTask,
    TaskDocument,
)
from evalwright.spec.documents.models.trials import Aggregator, ScoreAggregator, TrialsDefinition
from evalwright.templates import Template

Fields = dict[str, Any]
Words = dict[str, tuple[str, ...]]


class Table(NamedTuple):
    """One part of a document."""

    kind: type[BaseModel]
    least: Fields
    defaults: Fields
    words: Words
    keys: tuple[str, ...] = ()


ENTITIES = ("dataset", "model")
SCALARS = ("string", "integer", "float", "boolean")
FORMATS = ("latticeflow", "open_responses")
MESSAGE = {"role": "user", "content": "?"}
GENERIC = {"type": "generic", "template": "[]"}

TASKS = {
    "task": Table(
        TaskDocument,
        {
            "key": "t",
            "display_name": "T",
            "description": "",
            "definition": {"type": "benchmark_task"},
        },
        {
            "long_description": None,
            "tasks": [],
            "evaluated_entity_type": None,
            "config_spec": [],
            "tags": [],
        },
        {"tasks": ("chat_completion", "embeddings", "custom"), "evaluated_entity_type": ENTITIES},
        keys=("key",),
    ),
    "benchmark_task": Table(
        BenchmarkTask,
        {},
        {
            "type": "benchmark_task",
            "evaluated_entity_type": "model",
            "dataset": None,
            "solver": None,
            "scorers": [],
            "trials": None,
            "actions": None,
        },
        {"type": ("benchmark_task",), "evaluated_entity_type": ENTITIES},
    ),
    "system_task": Table(
        SystemTask,
        {"type": "system_task", "compute_evidence_snippet": "def compute_evidence(): ..."},
        {},
        {"type": ("system_task",)},
    ),
    "dataset of a task": Table(
        DatasetTemplate,
        {},
        {"key": None, "keys": None, "source": "dataset", "fast_subset_size": None},
        {"source": ("dataset", "task_result")},
    ),
    "trials": Table(TrialsDefinition, {"num_trials": 2}, {"score_aggregators": []}, {}),
    "score aggregator": Table(
        ScoreAggregator, {"score_name": "a", "aggregator": {"function": "mean"}}, {}, {}
    ),
    "aggregator": Table(
        Aggregator,
        {"function": "mean"},
        {"k": None, "score_name": None},
        {"function": ("mean", "min", "max", "pass@k", "pass^k")},
    ),
}


def _parameter(
    word: str, kind: type[BaseModel], *, least: Fields, more: Fields, words: Words
) -> Table:
    """A parameter: what all have in common, and its own."""
    common = {"description": None, "default_value": None, "nullable": False}
    return Table(
        kind,
        {"type": word, "key": "p", "display_name": "P", **least},
        {**common, **more},
        {"type": (word,), **words},
    )


_PARAMETERS: list[tuple[str, type[BaseModel], Fields, Fields, Words]] = [
    ("float", parameters.FloatParameter, {}, {"min": None, "max": None}, {}),
    ("int", parameters.IntParameter, {}, {"min": None, "max": None}, {}),
    ("boolean", parameters.BooleanParameter, {}, {}, {}),
    (
        "string",
        parameters.StringParameter,
        {},
        {"string_kind": "freeform", "default_file_content": None, "examples": []},
        {"string_kind": ("freeform", "python", "jinja")},
    ),
    (
        "model",
        parameters.ModelParameter,
        {},
        {"usage": None},
        {
            "usage": (
                *("model_under_test", "judge_model"),
                *("synthesizer_model", "productivity_assistant"),
            )
        },
    ),
    ("dataset", parameters.DatasetParameter, {}, {}, {}),
    ("dataset_column", parameters.DatasetColumnParameter, {}, {}, {}),
    ("list", parameters.ListParameter, {"dtype": "string"}, {}, {"dtype": SCALARS}),
    (
        "categorical",
        parameters.CategoricalParameter,
        {"allowed_values": ["a"]},
        {"multiple": False, "values_mapping": None},
        {},
    ),
    ("dict", parameters.DictParameter, {"value_dtype": "float"}, {}, {"value_dtype": SCALARS}),
    ("task_result", parameters.TaskResultParameter, {}, {}, {}),
]
EXAMPLE = Table(parameters.StringExample, {"value": "v", "display_name": "V"}, {}, {})
PARAMETERS = {
    f"{word} parameter": _parameter(word, kind, least=least, more=more, words=words)
    for word, kind, least, more, words in _PARAMETERS
}

SOLVERS = {
    "single_turn_solver": Table(
        SingleTurnSolver,
        {"type": "single_turn_solver", "input_builder": GENERIC},
        {"message_format": "open_responses", "postprocessor": None},
        {"type": ("single_turn_solver",), "message_format": FORMATS},
    ),
    "chat_completion": Table(
        ChatCompletionInputBuilder,
        {"type": "chat_completion", "input_messages": [MESSAGE]},
        {},
        {"type": ("chat_completion",)},
    ),
    "generic": Table(GenericInputBuilder, GENERIC, {}, {"type": ("generic",)}),
    "input message": Table(InputMessage, MESSAGE, {}, {}),
    "multi_turn_solver": Table(
        MultiTurnSolver,
        {"type": "multi_turn_solver", "message_builders": [{"type": "generate"}]},
        {"message_format": "open_responses", "postprocessor": None},
        {"type": ("multi_turn_solver",), "message_format": FORMATS},
    ),
    "chat_message": Table(
        ChatMessageBuilder,
        {"type": "chat_message", **MESSAGE},
        {"terminate_if": None},
        {"type": ("chat_message",)},
    ),
    "generate": Table(
        GenerateBuilder, {"type": "generate"}, {"terminate_if": None}, {"type": ("generate",)}
    ),
    "generate_message": Table(
        GenerateMessageBuilder,
        {"type": "generate_message", "model_key": "m", "extra_input_messages": [MESSAGE]},
        {"include_conversation": True, "output_role": None, "terminate_if": None},
        {"type": ("generate_message",)},
    ),
    "loop": Table(
        LoopBuilder,
        {"type": "loop", "message_builders": [{"type": "generate"}]},
        {"max_iterations": 10, "on_max_iterations": "error"},
        {"type": ("loop",), "on_max_iterations": ("error", "continue")},
    ),
    "load_trace": Table(
        LoadTraceBuilder,
        {"type": "load_trace", "trace_column": "c"},
        {},
        {"type": ("load_trace",)},
    ),
    "terminate_if": Table(TerminateIf, {"includes": "x"}, {"keep_iteration": True}, {}),
    "pass_through_solver": Table(
        PassThroughSolver,
        {"type": "pass_through_solver", "trace_column": "c"},
        {"message_format": "open_responses", "postprocessor": None},
        {"type": ("pass_through_solver",), "message_format": FORMATS},
    ),
    "python solver": Table(
        PythonSolver,
        {
            "type": "python",
            "run_solver_snippet": "async def run_solver(sample, model, trace): ...",
        },
        {"postprocessor": None},
        {"type": ("python",)},
    ),
    "grouped_single_turn_solver": Table(
        GroupedSolver,
        {"type": "grouped_single_turn_solver", "input_builder": GENERIC},
        {"postprocessor": None},
        {"type": ("grouped_single_turn_solver",)},
    ),
    "postprocessor": Table(
        PythonPostprocessor,
        {"type": "python", "postprocess_snippet": "def postprocess(sample, solver_output): ..."},
        {},
        {"type": ("python",)},
    ),
}


def _scorer(kind: type[BaseModel], least: Fields, more: Fields, words: Words) -> Table:
    """A scorer: what all have in common, and its own."""
    common = {"key": None, "purpose": "score", "metrics": None, "display_name": None}
    return Table(
        kind,
        least,
        {**common, **more},
        {"type": (least["type"],), "purpose": ("score", "qa"), **words},
        keys=("key",),
    )


COMPUTE = {"compute_scores_snippet": "def compute_scores(sample): ..."}
ASKING = {"model_key": "openai$gpt-4-1-nano", "user_prompt": "{{ model_output }}"}
ANY_PLACE = {"verdict_position": None, "verdict_pattern": None}
JUDGING = Template(
    "You are a helpful assistant and will be used to judge the output of another model."
)
LABELING = Template(
    "You are a helpful assistant and will be used to label the output of another model "
    "or a dataset sample."
)
SCORERS = {
    "bleu": _scorer(Bleu, {"type": "bleu", "ground_truth": "a"}, {"value": None}, {}),
    "string_equals": _scorer(
        StringEquals, {"type": "string_equals", "ground_truth": "a"}, {"value": None}, {}
    ),
    "string_equals_mcqa": _scorer(
        StringEqualsMcqa,
        {"type": "string_equals_mcqa", "ground_truth_choice": "A", "choices": "[]"},
        {},
        {},
    ),
    "python scorer": _scorer(PythonScorer, {"type": "python", **COMPUTE}, {}, {}),
    "python_all_samples": _scorer(
        PythonAllSamples, {"type": "python_all_samples", **COMPUTE}, {}, {}
    ),
    "function_call_coverage": _scorer(
        FunctionCallCoverage,
        {"type": "function_call_coverage", "function_calls": "[]"},
        {"mode": "any_order"},
        {"mode": ("any_order", "in_order")},
    ),
    "model_as_a_judge_classifier": _scorer(
        ModelAsAJudgeClassifier,
        {
            "type": "model_as_a_judge_classifier",
            **ASKING,
            "correct_labels": ["correct"],
            "incorrect_labels": ["incorrect"],
        },
        {"system_prompt": JUDGING, "use_structured_outputs": False, **ANY_PLACE},
        {},
    ),
    "model_as_a_judge_scorer": _scorer(
        ModelAsAJudgeScorer,
        {"type": "model_as_a_judge_scorer", **ASKING},
        {
            "system_prompt": JUDGING,
            "use_structured_outputs": False,
            **ANY_PLACE,
            "score_min": 0.0,
            "score_max": 1.0,
        },
        {},
    ),
    "labeler_via_model": _scorer(
        LabelerViaModel,
        {"type": "labeler_via_model", **ASKING},
        {
            "system_prompt": LABELING,
            "use_structured_outputs": False,
            "valid_labels": [],
            **ANY_PLACE,
        },
        {},
    ),
    "rag_checker": _scorer(
        RagChecker,
        {"type": "rag_checker", "judge_model_key": "judge"},
        {
            "query_column": "query",
            "target_column": None,
            "scores_to_compute": None,
            "target_claims_column": None,
            "response_claims_column": None,
            "claim_extraction_instructions": None,
            "mode": "all_claims",
            "target_labels_column": None,
            "response_labels_column": None,
            "claim_labeling_instructions": None,
        },
        {"mode": ("all_claims", "required_only", "required_and_optional")},
    ),
}


def _metric(kind: type[BaseModel], least: Fields, *, named: bool = True) -> Table:
    """A metric: what all have in common, and its own."""
    common = {"key": None, "display_name": None, "by": None}
    defaults: Fields = {**common, **({"name": None} if named else {})}
    return Table(kind, least, defaults, {"type": (least["type"],)}, keys=("key",))


TRUE_POSITIVES = {"num_true_positives_field": "tp"}
FALSE_POSITIVES = {"num_false_positives_field": "fp"}
FALSE_NEGATIVES = {"num_false_negatives_field": "fn"}
PAIR = {"field_gt": "gt", "field_pred": "pred"}
METRICS = {
    "python metric": _metric(
        PythonMetric,
        {"type": "python", "compute_metrics_snippet": "def compute_metrics(scores): ..."},
        named=False,
    ),
    **{
        word: _metric(kind, {"type": word, "field": "x"})
        for word, kind in (("mean", Mean), ("max", Max), ("min", Min), ("std_dev", StdDev))
    },
    "frequency": _metric(Frequency, {"type": "frequency", "field": "x"}, named=False),
    "recall": _metric(Recall, {"type": "recall", **TRUE_POSITIVES, **FALSE_NEGATIVES}),
    "precision": _metric(Precision, {"type": "precision", **TRUE_POSITIVES, **FALSE_POSITIVES}),
    "f1_score": _metric(
        F1Score, {"type": "f1_score", **TRUE_POSITIVES, **FALSE_POSITIVES, **FALSE_NEGATIVES}
    ),
    "binary-classification": _metric(
        BinaryClassification,
        {
            "type": "binary-classification",
            **PAIR,
            "positive_answer": "yes",
            "negative_answer": "no",
        },
        named=False,
    ),
    "multiclass-classification": _metric(
        MulticlassClassification, {"type": "multiclass-classification", **PAIR}, named=False
    ),
    "weighted_average": _metric(
        WeightedAverage, {"type": "weighted_average", "field": "x", "weights": {"a": 1}}
    ),
}

EXPRESSION = {"expression": "{{ sample.a }}"}
RULES = {
    "rule": Table(
        ActionRule,
        {"key": "r", "action": "exclude_from_metrics", "filter": {"op": "exists", **EXPRESSION}},
        {},
        {"action": ("exclude_from_metrics",)},
        keys=("key",),
    ),
    "unary filter": Table(
        FilterUnary,
        {"op": "exists", **EXPRESSION},
        {},
        {"op": ("exists", "not_exists", "is_true", "is_false")},
    ),
    "comparison": Table(
        FilterComparison,
        {"op": "equals", **EXPRESSION, "value": 1},
        {},
        {
            "op": (
                *("equals", "not_equals", "greater_than", "less_than"),
                *("greater_or_equal", "less_or_equal"),
            )
        },
    ),
    "membership": Table(
        FilterMembership,
        {"op": "in", **EXPRESSION, "values": ["a"]},
        {},
        {"op": ("in", "not_in")},
    ),
}

TABLES: dict[str, Table] = {
    **TASKS,
    **PARAMETERS,
    "example of a string": EXAMPLE,
    **SOLVERS,
    **SCORERS,
    **METRICS,
    **RULES,
}
