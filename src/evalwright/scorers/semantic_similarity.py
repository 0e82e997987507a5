"""`semantic_similarity`: how near two texts are in the space of an embedding model.

    scorers:
      - type: semantic_similarity
        ground_truth: "{{ sample.reference }}"
        model_key: local/wordllama

One request embeds both texts; the score is the cosine of their vectors. This scorer is evalwright's
own. `local/wordllama` embeds on this machine, without a key; any other model that embeds may be
named. What a figure means depends on the model: with most of them, texts that have nothing to do
with each other score well above 0, so compare figures of one model only. An empty text has no
direction: its sample fails, and is no 0.
"""

from collections.abc import Sequence
from math import fsum, hypot, inf
from typing import Any, ClassVar, Literal

from evalwright.components import ModelKey
from evalwright.errors import ModelError
from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference, find_model, short
from evalwright.types import Completion, Request, Score

_NAME_ONE = "name an embedding model: `model_key: local/wordllama`"


class SemanticSimilarity(ComparisonScorer):
    """Scores `similarity`: the cosine of the two embedded texts, in [-1, 1]."""

    score_names: ClassVar[tuple[str, ...] | None] = ("similarity",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "similarity"),)

    type: Literal["semantic_similarity"]
    model_key: ModelKey | None = None
    """The model that embeds: a key of the project, or `local/wordllama`, which needs no key and no
    server. Without it, the model that is evaluated."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The one that embeds, where it is named."""
        return () if self.model_key is None else (self.model_key,)

    @property
    def calls_model(self) -> bool:
        """Always: the evaluated model, where no other is named."""
        return True

    async def score(self, case: Case) -> Score:
        """Embed both, and compare."""
        actual, expected = self.render_pair(case)
        request = Request(
            sample=case.sample,
            trial=case.trial,
            task="embeddings",
            input={"input": [actual, expected]},
        )
        completion = await self._complete(case, request)
        similarity = cosine(*_two(completion.output))
        return Score(
            values={"similarity": similarity},
            reason="" if similarity == 1 else explain_difference(actual, expected),
            metadata={"answer_gt": expected, "answer_pred": actual},
        )

    async def _complete(self, case: Case, request: Request) -> Completion:
        key = self.model_key
        model = case.model if key is None else find_model(case, key)
        try:
            return await model.complete(request)
        except ModelError as error:
            if not _cannot_embed(error):
                raise
            who = "the evaluated model" if key is None else f"`{key}`"
            named = ModelError(error.kind, f"{who} does not embed: {error}", hint=_NAME_ONE)
            named.attempts = error.attempts
            raise named from error


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """a·b / (|a| |b|), from -1 to 1; ValueError where one of them has no direction."""
    length, other_length = hypot(*one), hypot(*other)
    if not (0 < length < inf and 0 < other_length < inf):
        raise ValueError("a vector of zeros or of no numbers has no direction to compare")
    # Each by its own length: the product of two can leave the range of floats.
    pairs = zip(one, other, strict=True)
    return max(-1.0, min(1.0, fsum(a / length * (b / other_length) for a, b in pairs)))


def _cannot_embed(error: ModelError) -> bool:
    """It says so itself, or its server has no such endpoint, or does not let this model use it."""
    about_it = error.kind in {"auth", "bad_request"} and "embedding" in str(error).lower()
    return error.kind in {"unsupported", "not_found"} or about_it


def _two(output: Any) -> tuple[list[float], list[float]]:
    vectors = output.get("embeddings") if isinstance(output, dict) else None
    match vectors:
        case [[*one], [*other]] if one and len(one) == len(other) and _numbers(one + other):
            return one, other
    raise ValueError(
        "an embedding model must give `embeddings`, one list of numbers a text, both of one "
        f"length, got {short(output)}; {_NAME_ONE}"
    )


def _numbers(vector: list[Any]) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in vector)
