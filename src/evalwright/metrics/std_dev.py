"""`std_dev`: the standard deviation of a score.

    metrics:
      - type: std_dev
        field: score

This is the sample standard deviation, with n - 1 in the denominator.
"""

from typing import Literal

from evalwright.metrics.base import FieldMetric, join_reasons
from evalwright.metrics.scores import Measure, Scores
from evalwright.stats.arrays import Floats
from evalwright.stats.deviation import FEWEST, deviation, deviation_interval
from evalwright.stats.interval import Bounds

_TOO_FEW = "undefined: a standard deviation needs at least two values"


class StdDev(FieldMetric):
    """The sample standard deviation of a score (divided by n - 1), undefined for one value."""

    type: Literal["std_dev"]

    def measure_numbers(self, values: Floats, missing: str, *, seed: int) -> Measure:
        """Compute the standard deviation, `{field}_std_dev`."""
        n = int(values.size)
        if n == 1:
            return Measure(self.value_name, None, None, n, join_reasons(_TOO_FEW, missing))
        interval = deviation_interval(values, seed=seed)
        reason = "" if interval else f"no interval: fewer than {FEWEST} values, or all are equal"
        reason = join_reasons(reason, missing)
        return Measure(self.value_name, deviation(values), interval, n, reason)

    def bounds(self, scores: Scores) -> Bounds:
        """Return the range of possible values: 0 or more."""
        del scores
        return 0.0, None
