"""`string_equals`: correct if the value is exactly the ground truth.

    scorers:
      - type: string_equals
        ground_truth: "{{ sample.target }}"
        value: "{{ solver_output.output.choices[0].message.content | trim }}"   # optional

Every character counts, including case, spaces and line breaks. Use the `trim` and `lower` filters
to ignore surrounding whitespace and case.
"""

from typing import Any, ClassVar, Literal

from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference
from evalwright.text.similarity import contains_target
from evalwright.types import CONTAINS_TARGET, Score


class StringEquals(ComparisonScorer):
    """Scores `is_correct`: whether the rendered value equals the rendered ground truth."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["string_equals"]

    async def score(self, case: Case) -> Score:
        """Compare the two strings."""
        actual, expected = self.render_pair(case)
        equal = actual == expected
        metadata: dict[str, Any] = {"answer_gt": expected, "answer_pred": actual}
        if not equal and contains_target(actual, [expected]):
            metadata[CONTAINS_TARGET] = True
        return Score(
            values={"is_correct": equal},
            correct=equal,
            reason="" if equal else explain_difference(actual, expected),
            metadata=metadata,
        )
