"""`semantic_similarity`: how similar two strings are according to an embedding model.

    scorers:
      - type: semantic_similarity
        ground_truth: "{{ sample.reference }}"
        model_key: local/wordllama

One request embeds both strings. The score is the cosine similarity of the two vectors. If either
string is empty, the sample fails. `local/wordllama` runs on your machine and needs no key. You can
also use any other embedding model. Compare only scores from the same model: with most models,
unrelated strings score well above 0. This scorer is an evalwright extension.
"""

from collections.abc import Sequence
from math import fsum, hypot, inf
from typing import Any, ClassVar, Literal

from evalwright.components import ModelKey
from evalwright.errors import ModelError
from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference, find_model, short
from evalwright.types import Request, Score

_HINT = "name an embedding model: `model_key: local/wordllama`"


class SemanticSimilarity(ComparisonScorer):
    """Scores `similarity`: the cosine similarity of the two embeddings, in [-1, 1]."""

    score_names: ClassVar[tuple[str, ...] | None] = ("similarity",)
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {"similarity": (-1, 1)}
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "similarity"),)

    type: Literal["semantic_similarity"]
    model_key: ModelKey | None = None
    """Embedding model: the key of a model in the project, or `local/wordllama`, which needs no API
    key and no server. Default: the evaluated model."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The key of the embedding model, if one is set."""
        return () if self.model_key is None else (self.model_key,)

    @property
    def calls_model(self) -> bool:
        """Return true: the scorer calls `model_key` or the evaluated model."""
        return True

    async def score(self, case: Case) -> Score:
        """Embed both strings and compare the vectors."""
        actual, expected = self.render_pair(case)
        request = Request(
            sample=case.sample,
            trial=case.trial,
            task="embeddings",
            input={"input": [actual, expected]},
        )
        model = case.model if self.model_key is None else find_model(case, self.model_key)
        try:
            completion = await model.complete(request)
        except ModelError as error:
            if not _lacks_embeddings(error):
                raise
            model_name = f"`{self.model_key}`" if self.model_key else "the evaluated model"
            message = f"{model_name} cannot embed text: {error.message}"
            raise ModelError(error.kind, message, hint=_HINT, attempts=error.attempts) from error
        similarity = cosine(*_parse_vectors(completion.output))
        return Score(
            values={"similarity": similarity},
            reason="" if similarity == 1 else explain_difference(actual, expected),
            metadata={"answer_gt": expected, "answer_pred": actual},
        )


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """Return a·b / (|a| |b|), from -1 to 1; ValueError for a zero or empty vector."""
    first_length, second_length = hypot(*first), hypot(*second)
    if not (0 < first_length < inf and 0 < second_length < inf):
        raise ValueError("a zero or empty vector has no direction to compare")
    # Divide each by its own length: the product of both lengths can exceed the range of floats.
    pairs = zip(first, second, strict=True)
    return max(-1.0, min(1.0, fsum(a / first_length * (b / second_length) for a, b in pairs)))


def _lacks_embeddings(error: ModelError) -> bool:
    """Whether the error means that the model or its server does not support embeddings."""
    mentions = error.kind in {"auth", "bad_request"} and "embedding" in error.message.lower()
    return error.kind in {"unsupported", "not_found"} or mentions


def _parse_vectors(output: Any) -> tuple[list[float], list[float]]:
    vectors = output.get("embeddings") if isinstance(output, dict) else None
    match vectors:
        case [[*first], [*second]] if first and len(first) == len(second):
            numbers = first + second
            if all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
                return first, second
    raise ValueError(
        "an embedding model must return `embeddings`, one list of numbers per string, both of the "
        f"same length, got {short(output)}; {_HINT}"
    )
