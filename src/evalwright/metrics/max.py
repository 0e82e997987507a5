"""`max`: the largest value of a score.

    metrics:
      - type: max
        field: score

The metric has no confidence interval, because larger values may exist that were not observed.
"""

from typing import ClassVar, Literal

from evalwright.metrics.base import ExtremeMetric


class Max(ExtremeMetric):
    """The largest value of a score over all samples. True counts as 1, false as 0."""

    type: Literal["max"]
    word: ClassVar[str] = "largest"
