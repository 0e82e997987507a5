"""`chrf`: how many character n-grams the value shares with the ground truth, from 0 to 1.

    scorers:
      - type: chrf
        ground_truth: "{{ sample.translation }}"
        word_order: 2                       # optional: chrF++

The score is sentence chrF2 as computed by sacrebleu (signature
`nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no`) on the texts in Unicode form NFC, divided by 100.
The score is based on characters, so it also suits languages with rich morphology and scripts that
do not use spaces. Identical strings score 1, even if both are empty. With `word_order: 2`, the
score is chrF++, which also compares words and word pairs. The mean of sentence scores is not the
same as corpus chrF. This scorer is an evalwright extension.
"""

from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal

from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference
from evalwright.text.normalize import to_nfc
from evalwright.types import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF


class Chrf(ComparisonScorer):
    """Scores `chrf_score`: the sentence chrF2 of the value against the ground truth, in [0, 1]."""

    score_names: ClassVar[tuple[str, ...] | None] = ("chrf_score",)
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {"chrf_score": (0, 1)}
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "chrf_score"),)

    type: Literal["chrf"]
    word_order: Literal[0, 1, 2] = 0
    """Length of the longest word n-grams that are compared in addition to character n-grams.
    0: chrF, 2: chrF++."""

    async def score(self, case: Case) -> Score:
        """Compute the sentence chrF."""
        actual, expected = self.render_pair(case)
        score = chrf(to_nfc(actual), to_nfc(expected), word_order=self.word_order)
        return Score(
            values={"chrf_score": score},
            reason="" if score == 1 else explain_difference(actual, expected),
        )


def chrf(actual: str, expected: str, *, word_order: int = 0) -> float:
    """Compute sentence chrF2 in [0, 1]. Popović (2015), WMT; with words, Popović (2017), WMT."""
    if actual == expected:
        return 1.0
    return min(1.0, float(_chrf(word_order).sentence_score(actual, [expected]).score) / 100)


@cache
def _chrf(word_order: int) -> "CHRF":
    # Imported here, because the import takes longer than most commands.
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(word_order=word_order)
