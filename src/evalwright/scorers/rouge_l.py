"""`rouge_l`: the longest sequence of words that the value shares with the ground truth.

    scorers:
      - type: rouge_l
        ground_truth: "{{ sample.summary }}"

The score is the F-measure of ROUGE-L (Lin, 2004) with equal weights for precision and recall,
computed as for task records with `metric_name: rouge_l`, except that both strings are first
normalized to Unicode form NFC. The score ranges from 0 to 1. Words are sequences of letters, digits
and underscores in any script, converted to lowercase and not stemmed. Two strings without words
score 1 if they are equal, otherwise 0. Text in a script that does not use spaces is not split into
words. This scorer is an evalwright extension.
"""

from typing import ClassVar, Literal

from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference
from evalwright.text.normalize import to_nfc
from evalwright.text.similarity import rouge_l
from evalwright.types import Score


class RougeL(ComparisonScorer):
    """Scores `rouge_l_score`: the ROUGE-L of the value against the ground truth, in [0, 1]."""

    score_names: ClassVar[tuple[str, ...] | None] = ("rouge_l_score",)
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {"rouge_l_score": (0, 1)}
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "rouge_l_score"),)

    type: Literal["rouge_l"]

    async def score(self, case: Case) -> Score:
        """Compute ROUGE-L."""
        actual, expected = self.render_pair(case)
        score = rouge_l(to_nfc(actual), [to_nfc(expected)])
        return Score(
            values={"rouge_l_score": score},
            reason="" if score == 1 else explain_difference(actual, expected),
        )
