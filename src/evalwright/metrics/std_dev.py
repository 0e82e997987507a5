"""`std_dev`: how far the values of a score lie from their mean.

    metrics:
      - type: std_dev
        field: score

The standard deviation of a sample: the squares are divided by n - 1.
"""

from typing import TYPE_CHECKING, Literal

from evalwright.metrics.base import NOTHING, FieldMetric, told
from evalwright.metrics.measure import Measure
from evalwright.ports import Snippets

if TYPE_CHECKING:
    from evalwright.metrics.scores import Scores

_TOO_FEW = "undefined: a deviation needs two values"


class StdDev(FieldMetric):
    """The sample standard deviation of a score (divided by n - 1), undefined for one value."""

    type: Literal["std_dev"]

    async def measure(
        self, scores: "Scores", *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """One figure, `{field}_std_dev`."""
        from evalwright.stats.deviation import FEWEST, deviation, deviation_interval

        del snippets
        values, absent = self.numbers(scores)
        n = int(values.size)
        if n < 2:  # noqa: PLR2004 - two values make a deviation
            return [Measure(self.figure, None, None, n, told(_TOO_FEW if n else NOTHING, absent))]
        interval = deviation_interval(values, seed=seed)
        why = "" if interval else f"no interval: fewer than {FEWEST} values, or all are equal"
        return [Measure(self.figure, deviation(values), interval, n, told(why, absent))]
