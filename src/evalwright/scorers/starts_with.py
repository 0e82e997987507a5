"""`starts_with`: correct if the value starts with the ground truth.

    scorers:
      - type: starts_with
        ground_truth: "{{ sample.verdict }}"
        ignore_case: true                   # optional

White space at the start of the value is skipped. What follows the ground truth does not matter:
`Yes, it is` and `Yesterday` both start with `Yes`. Both texts are compared in Unicode form NFC. If
the ground truth is empty, the sample fails. This scorer is an evalwright extension.
"""

from typing import ClassVar, Literal

from evalwright.components import Flag
from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, short
from evalwright.scorers.matching import require_text, score_match
from evalwright.text.normalize import fold
from evalwright.types import Score


class StartsWith(ComparisonScorer):
    """Scores `is_correct`: whether the rendered value starts with the rendered ground truth."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["starts_with"]
    ignore_case: Flag = False
    """Whether case is ignored."""

    async def score(self, case: Case) -> Score:
        """Compare the start of the value."""
        actual, expected = self.render_pair(case)
        wanted = fold(require_text(expected.lstrip()), ignore_case=self.ignore_case)
        start = fold(actual.lstrip(), ignore_case=self.ignore_case)
        return score_match(
            actual,
            expected,
            is_correct=start.startswith(wanted),
            reason=f"{short(actual)} does not start with {short(expected)}",
        )
