"""`min`: the smallest value of a score.

    metrics:
      - type: min
        field: score

It has no interval: the extreme value of a sample says nothing about unseen values.
"""

from typing import ClassVar, Literal

from evalwright.metrics.base import ExtremeMetric


class Min(ExtremeMetric):
    """The smallest value of a score over all samples. True counts as 1, false as 0."""

    type: Literal["min"]
    word: ClassVar[str] = "smallest"
