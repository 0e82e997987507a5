"""`levenshtein`: how similar the value is to the ground truth, measured in edits.

    scorers:
      - type: levenshtein
        ground_truth: "{{ sample.transcript }}"
        ignore_case: true                   # optional

`distance` is the smallest number of characters to insert, delete or replace. `similarity` ranges
from 0 to 1: `1 - distance / length of the longer string`. Two empty strings have a similarity of 1.
Leading and trailing whitespace is ignored. A character is a code point of the string in Unicode
form NFC. This scorer is an evalwright extension.
"""

from typing import ClassVar, Literal

from evalwright.components import Flag
from evalwright.ports import Case
from evalwright.scorers.base import ComparisonScorer, explain_difference
from evalwright.text.normalize import fold
from evalwright.types import Score


class Levenshtein(ComparisonScorer):
    """Scores `similarity`, in [0, 1], and `distance`, in characters."""

    score_names: ClassVar[tuple[str, ...] | None] = ("similarity", "distance")
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {
        "similarity": (0, 1),
        "distance": (0, None),
    }
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "similarity"),)

    type: Literal["levenshtein"]
    ignore_case: Flag = False
    """Whether case is ignored."""

    async def score(self, case: Case) -> Score:
        """Count the edits."""
        actual, expected = self.render_pair(case)
        distance, longer = self._measure(actual, expected)
        return Score(
            values={"similarity": 1 - distance / longer if longer else 1.0, "distance": distance},
            reason=explain_difference(actual, expected) if distance else "",
        )

    def _measure(self, actual: str, expected: str) -> tuple[int, int]:
        """Return the distance and the length of the longer string."""
        # Imported here, because only some runs need it.
        from rapidfuzz.distance.Levenshtein import distance

        texts = [fold(text, ignore_case=self.ignore_case).strip() for text in (actual, expected)]
        return distance(*texts), max(map(len, texts))
