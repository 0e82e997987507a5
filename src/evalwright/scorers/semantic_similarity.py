"""`semantic_similarity`: how near two texts are in the space of an embedding model.

    scorers:
      - type: semantic_similarity
        ground_truth: "{{ sample.reference }}"
        model_key: my-embeddings

One request embeds both texts; the score is the cosine of their vectors. This scorer is evalwright's
own. What a figure means depends on the model: with most of them, texts that have nothing to do with
each other score well above 0, so compare figures of one model only.
"""

from collections.abc import Sequence
from math import fsum, hypot, inf
from typing import Any, ClassVar, Literal

from evalwright.components import ModelKey
from evalwright.ports import Case, Model
from evalwright.scorers.answers import compared
from evalwright.scorers.base import ScorerSpec, apart, short
from evalwright.templates import Template
from evalwright.types import Request, Score


class SemanticSimilarity(ScorerSpec):
    """Scores `similarity`: the cosine of the two embedded texts, in [-1, 1]."""

    gives: ClassVar[tuple[str, ...] | None] = ("similarity",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "similarity"),)

    type: Literal["semantic_similarity"]
    """The kind of scorer."""
    ground_truth: Template
    """The text to come near. May refer to `sample`."""
    value: Template | None = None
    """What is compared. May refer to `sample` and to what the solver made (`solver_output`).
    Without it, the text of the last assistant message; a task without a solver must give it."""
    model_key: ModelKey | None = None
    """The model that embeds. Without it, the model that is evaluated."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The one that embeds, where it is named."""
        return () if self.model_key is None else (self.model_key,)

    @property
    def asks(self) -> bool:
        """Always: the evaluated model, where no other is named."""
        return True

    async def score(self, case: Case) -> Score:
        """Embed both, and compare."""
        actual, expected = compared(case, value=self.value, ground_truth=self.ground_truth)
        request = Request(
            sample=case.sample,
            trial=case.trial,
            task="embeddings",
            input={"input": [actual, expected]},
        )
        completion = await self._model(case).complete(request)
        similarity = cosine(*_two(completion.output))
        return Score(
            values={"similarity": similarity},
            reason="" if similarity == 1 else apart(actual, expected),
            metadata={"answer_gt": expected, "answer_pred": actual},
        )

    def _model(self, case: Case) -> Model:
        if self.model_key is None:
            return case.model
        try:
            return case.models[self.model_key]
        except KeyError:
            known = ", ".join(f"`{key}`" for key in sorted(case.models)) or "none"
            raise ValueError(
                f"`model_key` names `{self.model_key}`; the models here: {known}"
            ) from None


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """a·b / (|a| |b|), from -1 to 1; ValueError where one of them has no direction."""
    length, other_length = hypot(*one), hypot(*other)
    if not (0 < length < inf and 0 < other_length < inf):
        raise ValueError("a vector of zeros or of no numbers has no direction to compare")
    # Each by its own length: the product of two can leave the range of floats.
    pairs = zip(one, other, strict=True)
    return max(-1.0, min(1.0, fsum(a / length * (b / other_length) for a, b in pairs)))


def _two(output: Any) -> tuple[list[float], list[float]]:
    vectors = output.get("embeddings") if isinstance(output, dict) else None
    match vectors:
        case [[*one], [*other]] if one and len(one) == len(other) and _numbers(one + other):
            return one, other
    raise ValueError(
        "an embedding model must give `embeddings`, one list of numbers a text, both of one "
        f"length, got {short(output)}"
    )


def _numbers(vector: list[Any]) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in vector)
