"""`min`: the smallest value of a score.

    metrics:
      - type: min
        field: score

The metric has no confidence interval, because smaller values may exist that were not observed.
"""

from typing import ClassVar, Literal

from evalwright.metrics.base import ExtremeMetric


class Min(ExtremeMetric):
    """The smallest value of a score over all samples. True counts as 1, false as 0."""

    type: Literal["min"]
    word: ClassVar[str] = "smallest"
