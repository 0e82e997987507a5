r"""`contains`: correct if the value contains the ground truth.

    scorers:
      - type: contains
        ground_truth: "{{ sample.city }}"
        ignore_case: true                   # optional

The ground truth may occur anywhere in the value, even inside a word: `party` contains `art`. To
find only whole words, use `regex_match` with `\b`. Both strings are normalized to Unicode form NFC,
so it makes no difference whether `é` is one code point or two. If the ground truth is empty, the
sample fails, because every answer would contain it. This scorer is an evalwright extension.
"""

from typing import ClassVar, Literal

from evalwright.components import Flag
from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, short
from evalwright.scorers.matching import require_text, score_match
from evalwright.text.normalize import fold
from evalwright.types import Score


class Contains(ComparisonScorer):
    """Scores `is_correct`: whether the rendered value contains the rendered ground truth."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["contains"]
    ignore_case: Flag = False
    """Whether case is ignored."""

    async def score(self, case: Case) -> Score:
        """Search for the ground truth."""
        actual, expected = self.render_pair(case)
        return score_containment(actual, expected, ignore_case=self.ignore_case)


def score_containment(actual: str, expected: str, *, ignore_case: bool) -> Score:
    """Score whether `actual` contains `expected`; ValueError if `expected` is empty."""
    target = fold(require_text(expected), ignore_case=ignore_case)
    return score_match(
        actual,
        expected,
        is_correct=target in fold(actual, ignore_case=ignore_case),
        reason=f"{short(actual)} does not contain {short(expected)}",
    )
