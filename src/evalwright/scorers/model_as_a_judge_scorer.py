"""`model_as_a_judge_scorer`: a judge model's rating of an answer on a numeric scale.

    scorers:
      - type: model_as_a_judge_scorer
        model_key: openai/gpt-4.1-mini
        user_prompt: |
          How polite is this answer, from 1 to 5? Reply with the number only.
          <answer>{{ solver_output.output }}</answer>
        score_min: 1
        score_max: 5

The score is (rating - score_min) / (score_max - score_min), so 0 is the worst and 1 the best score
on every scale. The metadata contains the original rating. The sample fails if the rating is out of
range, refers to a different scale, is spelled out in words or is a percentage. The error message
quotes the reply.
"""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from evalwright.scorers.judging.judge_spec import JudgeSpec
from evalwright.scorers.judging.verdict_values import NumberReader
from evalwright.types import Score

_FARTHEST = 1e12
"""Larger than any realistic scale, but small enough for exact arithmetic."""

Bound = Annotated[float, Field(ge=-_FARTHEST, le=_FARTHEST, strict=True)]


class ModelAsAJudgeScorer(JudgeSpec):
    """Scores `score`: the judge's number, scaled to [0, 1]."""

    score_names: ClassVar[tuple[str, ...] | None] = ("score",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "score"),)

    type: Literal["model_as_a_judge_scorer"]
    score_min: Bound = 0.0
    """Lowest rating on the scale. It is converted to a score of 0."""
    score_max: Bound = 1.0
    """Highest rating on the scale. It is converted to a score of 1."""

    @field_validator("score_max")
    @classmethod
    def _check_above_minimum(cls, highest: float, info: ValidationInfo) -> float:
        lowest = info.data.get("score_min")
        if lowest is not None and not lowest < highest:
            raise ValueError(f"expected a number above `score_min` ({lowest:g}), got {highest:g}")
        return highest

    @property
    def verdict_schema(self) -> tuple[str, str, dict[str, Any]]:
        """Return the schema for a number on the scale."""
        scale = {"minimum": self.score_min, "maximum": self.score_max}
        return "score", "score", {"type": "number", **scale}

    @cached_property
    def reader(self) -> NumberReader:
        """Return a reader for a number on the scale."""
        return NumberReader(self.score_min, self.score_max)

    def make_score(self, verdict: float) -> Score:
        """Scale the rating to [0, 1]."""
        score = (verdict - self.score_min) / (self.score_max - self.score_min)
        full = verdict == self.score_max
        return Score(
            values={"score": score},
            reason="" if full else f"the judge's rating: {verdict:g} of {self.score_max:g}",
            metadata={"raw_score": verdict},
        )
