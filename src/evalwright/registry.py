"""Names to the things they name, imported only when asked for.

The built-in ones are listed here. A plugin adds its own by an entry point in the group
`evalwright.models` (and so on, a group a kind); a built-in name cannot be taken over.
"""

from importlib import import_module
from typing import Any

from evalwright.errors import UnknownName
from evalwright.nearest import nearest

BUILT_IN: dict[str, dict[str, str]] = {
    "datasets": {
        "chat_jsonl": "evalwright.datasets.chat_jsonl:ChatJsonlSource",
        "folder": "evalwright.datasets.folder:Folder",
        "huggingface": "evalwright.datasets.huggingface:HuggingFace",
        "inline": "evalwright.datasets.inline:Inline",
        "inspect_ai": "evalwright.datasets.inspect_ai:InspectAi",
        "local": "evalwright.datasets.local:Local",
        "task_result": "evalwright.datasets.task_result:TaskResultSource",
        "url": "evalwright.datasets.url:Url",
    },
    "metrics": {
        "binary-classification": "evalwright.metrics.binary_classification:BinaryClassification",
        "f1_score": "evalwright.metrics.f1_score:F1Score",
        "frequency": "evalwright.metrics.frequency:Frequency",
        "max": "evalwright.metrics.max:Max",
        "mean": "evalwright.metrics.mean:Mean",
        "min": "evalwright.metrics.min:Min",
        "multiclass-classification": (
            "evalwright.metrics.multiclass_classification:MulticlassClassification"
        ),
        "precision": "evalwright.metrics.precision:Precision",
        "python": "evalwright.metrics.python:Python",
        "recall": "evalwright.metrics.recall:Recall",
        "std_dev": "evalwright.metrics.std_dev:StdDev",
        "weighted_average": "evalwright.metrics.weighted_average:WeightedAverage",
    },
    "models": {
        "anthropic": "evalwright.clients.anthropic:connect",
        "deepseek": "evalwright.clients.openai:connect",
        "fireworks": "evalwright.clients.openai:connect",
        "gemini": "evalwright.clients.openai:connect",
        "groq": "evalwright.clients.openai:connect",
        "latticeflow": "evalwright.clients.openai:connect",
        "llamacpp": "evalwright.clients.openai:connect",
        "lmstudio": "evalwright.clients.openai:connect",
        "local": "evalwright.clients.local:connect",
        "mistral": "evalwright.clients.openai:connect",
        "novita": "evalwright.clients.openai:connect",
        "ollama": "evalwright.clients.openai:connect",
        "openai": "evalwright.clients.openai:connect",
        "openai-responses": "evalwright.clients.openai_responses:connect",
        "openrouter": "evalwright.clients.openai:connect",
        "replay": "evalwright.clients.replay:connect",
        "sambanova": "evalwright.clients.openai:connect",
        "scripted": "evalwright.clients.scripted:connect",
        "together": "evalwright.clients.openai:connect",
        "vllm": "evalwright.clients.openai:connect",
    },
    "sandboxes": {
        "jailed": "evalwright.sandbox.jailed:Jailed",
        "unsafe": "evalwright.sandbox.unsafe:Unsafe",
    },
    "scorers": {
        "bleu": "evalwright.scorers.bleu:Bleu",
        "function_call_coverage": "evalwright.scorers.function_call_coverage:FunctionCallCoverage",
        "labeler_via_model": "evalwright.scorers.labeler_via_model:LabelerViaModel",
        "model_as_a_judge_classifier": (
            "evalwright.scorers.model_as_a_judge_classifier:ModelAsAJudgeClassifier"
        ),
        "model_as_a_judge_scorer": "evalwright.scorers.model_as_a_judge_scorer:ModelAsAJudgeScorer",
        "python": "evalwright.scorers.python:Python",
        "python_all_samples": "evalwright.scorers.python_all_samples:PythonAllSamples",
        "rag_checker": "evalwright.scorers.rag_checker:RagChecker",
        "record": "evalwright.scorers.record:RecordScorer",
        "self_report": "evalwright.scorers.self_report:SelfReport",
        "semantic_similarity": "evalwright.scorers.semantic_similarity:SemanticSimilarity",
        "string_equals": "evalwright.scorers.string_equals:StringEquals",
        "string_equals_mcqa": "evalwright.scorers.string_equals_mcqa:StringEqualsMcqa",
    },
    "solvers": {
        "grouped_single_turn_solver": "evalwright.solvers.grouped_single_turn_solver:GroupedSolver",
        "multi_turn_solver": "evalwright.solvers.multi_turn_solver:MultiTurnSolver",
        "pass_through_solver": "evalwright.solvers.pass_through_solver:PassThroughSolver",
        "python": "evalwright.solvers.python:PythonSolver",
        "record": "evalwright.solvers.record:RecordSolver",
        "single_turn_solver": "evalwright.solvers.single_turn_solver:SingleTurnSolver",
    },
    "synthesizers": {
        "drop_columns": "evalwright.datasets.generating.drop_columns:DropColumns",
        "empty": "evalwright.datasets.generating.empty:Empty",
        "llm": "evalwright.datasets.generating.llm:Llm",
        "python": "evalwright.datasets.generating.python:PythonSynthesizer",
        "template": "evalwright.datasets.generating.template:TemplateSynthesizer",
    },
}


def names(kind: str) -> list[str]:
    """Every name of a kind, plugins included."""
    return sorted({*BUILT_IN[kind], *_plugins(kind)})


def load(kind: str, name: str) -> Any:
    """What `name` names; `UnknownName` says which names there are."""
    if target := BUILT_IN[kind].get(name):
        module, _, attribute = target.partition(":")
        return getattr(import_module(module), attribute)
    plugins = _plugins(kind)
    if name in plugins:
        return plugins[name].load()
    known = names(kind)
    suggestion = nearest(name, known)
    raise UnknownName(
        f"`{name}` is not one of the {kind} known here: {', '.join(f'`{one}`' for one in known)}",
        hint=f"did you mean `{suggestion}`?" if suggestion else "",
    )


def _plugins(kind: str) -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=f"evalwright.{kind}")}
