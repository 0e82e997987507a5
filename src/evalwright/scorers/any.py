"""Every scorer that a task document may name, told apart by its `type`."""

from typing import Annotated

from pydantic import Field

from evalwright.scorers.bleu import Bleu
from evalwright.scorers.function_call_coverage import FunctionCallCoverage
from evalwright.scorers.labeler_via_model import LabelerViaModel
from evalwright.scorers.model_as_a_judge_classifier import ModelAsAJudgeClassifier
from evalwright.scorers.model_as_a_judge_scorer import ModelAsAJudgeScorer
from evalwright.scorers.python import Python
from evalwright.scorers.python_all_samples import PythonAllSamples
from evalwright.scorers.rag_checker import RagChecker
from evalwright.scorers.semantic_similarity import SemanticSimilarity
from evalwright.scorers.string_equals import StringEquals
from evalwright.scorers.string_equals_mcqa import StringEqualsMcqa

AnyScorer = Annotated[
    Bleu
    | FunctionCallCoverage
    | LabelerViaModel
    | ModelAsAJudgeClassifier
    | ModelAsAJudgeScorer
    | Python
    | PythonAllSamples
    | RagChecker
    | SemanticSimilarity
    | StringEquals
    | StringEqualsMcqa,
    Field(discriminator="type"),
]
"""One scorer of a task."""
