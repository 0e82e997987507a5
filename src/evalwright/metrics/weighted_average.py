"""`weighted_average`: the mean weight of the labels.

    metrics:
      - type: weighted_average
        field: label
        weights:
          good: 1
          fair: 0.5
          poor: 0

If a label has no weight, the metric fails.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from evalwright.metrics.base import FieldMetric, average_measure, describe_missing
from evalwright.metrics.scores import Measure, Scores
from evalwright.metrics.terms import SampleTerms
from evalwright.nearest import nearest
from evalwright.stats.arrays import np
from evalwright.stats.interval import Bounds


class WeightedAverage(FieldMetric):
    """The sum of the weights of all labels, divided by their number."""

    version: ClassVar[int] = 2

    type: Literal["weighted_average"]
    field: Annotated[str, Field(min_length=1)]
    """Score with the label. Null is excluded."""
    weights: Annotated[dict[str, float], Field(min_length=1)]
    """Weight of each label. Every label that occurs must have one."""

    def sample_terms(self) -> SampleTerms:
        """Return the field and the weight of each label."""
        return SampleTerms(fields=(self.field,), weights=self.weights)

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute one average, `{field}_weighted_average`."""
        labels = scores.column(self.field).labels()
        worth = np.asarray([self._weight(text) for text in labels.texts], dtype=np.float64)
        codes = labels.codes[labels.codes >= 0]
        absent = describe_missing(labels.codes.size - codes.size, labels.codes.size)
        bounds = self.bounds(scores)
        return [average_measure(self.value_name, worth[codes], absent, seed=seed, bounds=bounds)]

    def bounds(self, scores: Scores) -> Bounds:
        """Return the lowest and the highest weight."""
        del scores
        return min(self.weights.values()), max(self.weights.values())

    def _weight(self, label: str) -> float:
        if label in self.weights:
            return self.weights[label]
        known = list(self.weights)
        close = nearest(label, known)
        hint = f"; did you mean `{close}`?" if close else ""
        raise ValueError(
            f"`weights` has no weight for `{label}`; it has: "
            f"{', '.join(f'`{name}`' for name in known)}{hint}"
        )
