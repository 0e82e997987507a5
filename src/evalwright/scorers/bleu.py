"""`bleu`: how closely the value's wording matches the ground truth, from 0 to 1.

    scorers:
      - type: bleu
        ground_truth: "{{ sample.translation }}"

The score is sentence BLEU as computed by sacrebleu, with 13a tokenization, exponential smoothing
and effective order (signature `nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp`), divided by 100.
Identical strings score 1, even if both are empty. A value that shares no word with the ground truth
scores 0.

Text in a script that does not use spaces is not split into words. The mean of sentence scores is
not corpus BLEU.
"""

from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal

from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference
from evalwright.types import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


class Bleu(ComparisonScorer):
    """Scores `bleu_score`: the sentence BLEU of the value against the ground truth, in [0, 1]."""

    score_names: ClassVar[tuple[str, ...] | None] = ("bleu_score",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "bleu_score"),)

    type: Literal["bleu"]

    async def score(self, case: Case) -> Score:
        """Compute the sentence BLEU."""
        actual, expected = self.render_pair(case)
        score = bleu(actual, expected)
        return Score(
            values={"bleu_score": score},
            reason="" if score == 1 else explain_difference(actual, expected),
        )


def bleu(actual: str, expected: str) -> float:
    """Compute sentence BLEU in [0, 1]. Papineni et al. (2002), ACL; tokens: Post (2018), WMT."""
    if actual == expected:
        return 1.0
    # sacrebleu computes the geometric mean with logarithms: equal tokens can score above 100.
    return min(1.0, _bleu().sentence_score(actual, [expected]).score / 100)


@cache
def _bleu() -> "BLEU":
    # Imported here, because the import takes longer than most commands.
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="13a", smooth_method="exp", effective_order=True)
