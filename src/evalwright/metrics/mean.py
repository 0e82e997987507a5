"""`mean`: the average of a score.

    metrics:
      - type: mean
        field: is_correct

True counts as 1 and false as 0.
"""

from typing import ClassVar, Literal

from evalwright.metrics.base import FieldMetric, average_measure
from evalwright.metrics.scores import Measure
from evalwright.metrics.terms import SampleTerms
from evalwright.stats.arrays import Floats


class Mean(FieldMetric):
    """The average of a score over all samples. True counts as 1, false as 0."""

    version: ClassVar[int] = 2

    type: Literal["mean"]

    def sample_terms(self) -> SampleTerms:
        """Return the field: the metric is its mean."""
        return SampleTerms(fields=(self.field,))

    def measure_numbers(self, values: Floats, missing: str, *, seed: int) -> Measure:
        """Compute the average, `{field}_mean`."""
        return average_measure(self.value_name, values, missing, seed=seed)
