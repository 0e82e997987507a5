"""`starts_with`: correct if the value starts with the ground truth.

    scorers:
      - type: starts_with
        ground_truth: "{{ sample.verdict }}"
        ignore_case: true                   # optional

Leading whitespace in the value is skipped. The text after the ground truth does not matter:
`Yes, it is` and `Yesterday` both start with `Yes`. Both strings are normalized to Unicode form NFC.
If the ground truth is empty, the sample fails. This scorer is an evalwright extension.
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
        """Compare the start of the value with the ground truth."""
        actual, expected = self.render_pair(case)
        target = fold(require_text(expected.lstrip()), ignore_case=self.ignore_case)
        start = fold(actual.lstrip(), ignore_case=self.ignore_case)
        return score_match(
            actual,
            expected,
            is_correct=start.startswith(target),
            reason=f"{short(actual)} does not start with {short(expected)}",
        )
