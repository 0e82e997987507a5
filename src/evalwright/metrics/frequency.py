"""`frequency`: how often each value of a score occurs.

    metrics:
      - type: frequency
        field: label

The metric reports the share of each value. The shares add up to 1.
"""

from typing import Literal

from evalwright.metrics.base import Name, ShareMetric, describe_missing
from evalwright.metrics.scores import Measure, Scores
from evalwright.stats.arrays import np
from evalwright.stats.interval import wilson


class Frequency(ShareMetric):
    """The share of each value among the samples that have one. The shares add up to 1."""

    type: Literal["frequency"]
    field: Name
    """Score whose values are counted. Null is excluded."""

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute the share of each value, `{field}_{value}`, sorted by name.

        If all are null, return one undefined value with the name of the field.
        """
        del seed
        labels = scores.column(self.field).labels()
        counts = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.texts))
        n = int(counts.sum())
        absent = describe_missing(labels.codes.size - n, labels.codes.size)
        if absent and not n:
            return [Measure(self.field, None, None, 0, absent)]
        return [
            Measure(f"{self.field}_{text}", count / n, wilson(count, n), n, absent)
            for text, count in sorted(zip(labels.texts, counts.tolist(), strict=True))
        ]
