"""`mean`: the average of a score.

    metrics:
      - type: mean
        field: is_correct

Booleans count as 0 and 1.
"""

from typing import TYPE_CHECKING, Literal

from evalwright.metrics.base import FieldMetric
from evalwright.metrics.measure import Measure
from evalwright.ports import Snippets

if TYPE_CHECKING:
    from evalwright.metrics.scores import Scores


class Mean(FieldMetric):
    """The average of a score over all samples. True counts as 1, false as 0."""

    type: Literal["mean"]

    async def measure(
        self, scores: "Scores", *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """One figure, `{field}_mean`."""
        from evalwright.metrics.averages import averaged

        del snippets
        values, absent = self.numbers(scores)
        return [averaged(self.figure, values, absent, seed=seed)]
