"""`exact_match`: correct if the value equals the ground truth, with optional normalization.

    scorers:
      - type: exact_match
        ground_truth: "{{ sample.answer }}"
        ignore_case: true                   # all of these are optional
        ignore_punctuation: true
        ignore_articles: true
        ignore_whitespace: true

Leading and trailing whitespace is always ignored, and both strings are normalized to Unicode form
NFC. Without options, all other characters are compared. `string_equals`, by contrast, compares
every character. The options apply in this order: case, punctuation, articles, whitespace. An option
is not applied to a string if it would remove the whole string: with `ignore_articles`, the answer
`A` still differs from `the`. The first three options together are the normalization of SQuAD for
English text, extended to the punctuation of all scripts. This scorer is an evalwright extension.
"""

from collections.abc import Callable
from typing import ClassVar, Literal

from msgspec import structs

from evalwright.components import Flag
from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference
from evalwright.scorers.matching import score_match
from evalwright.text.normalize import drop_articles, drop_punctuation, drop_whitespace, fold
from evalwright.text.similarity import contains_target
from evalwright.types import CONTAINS_TARGET, Score


class ExactMatch(ComparisonScorer):
    """Scores `is_correct`: whether the normalized value equals the normalized ground truth."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["exact_match"]
    ignore_case: Flag = False
    """Whether case is ignored."""
    ignore_punctuation: Flag = False
    """Whether punctuation in any script is ignored. It is removed, so `3.5` equals `35`."""
    ignore_articles: Flag = False
    """Whether the English words `a`, `an` and `the` and the amount of whitespace between words are
    ignored."""
    ignore_whitespace: Flag = False
    """Whether all whitespace is ignored: `New York` equals `NewYork`."""

    async def score(self, case: Case) -> Score:
        """Normalize and compare both strings."""
        actual, expected = self.render_pair(case)
        equal = self._normalize(actual) == self._normalize(expected)
        score = score_match(
            actual, expected, is_correct=equal, reason=explain_difference(actual, expected)
        )
        if not equal and contains_target(actual, [expected]):
            return structs.replace(score, metadata={**score.metadata, CONTAINS_TARGET: True})
        return score

    def _normalize(self, text: str) -> str:
        text = fold(text, ignore_case=self.ignore_case).strip()
        steps: tuple[tuple[bool, Callable[[str], str]], ...] = (
            (self.ignore_punctuation, drop_punctuation),
            (self.ignore_articles, drop_articles),
            (self.ignore_whitespace, drop_whitespace),
        )
        for applies, drop in steps:
            if applies:
                text = drop(text).strip() or text
        return text
