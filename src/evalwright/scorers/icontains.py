"""`icontains`: correct if the value contains the ground truth, ignoring case.

    scorers:
      - type: icontains
        ground_truth: "{{ sample.city }}"

Equivalent to `contains` with `ignore_case: true`. This scorer is an evalwright extension.
"""

from typing import ClassVar, Literal

from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer
from evalwright.scorers.contains import score_containment
from evalwright.types import Score


class Icontains(ComparisonScorer):
    """Scores `is_correct`: whether the value contains the ground truth, ignoring case."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["icontains"]

    async def score(self, case: Case) -> Score:
        """Search for the ground truth."""
        actual, expected = self.render_pair(case)
        return score_containment(actual, expected, ignore_case=True)
