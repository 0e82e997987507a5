"""`f1_score`: 2 TP / (2 TP + FP + FN), of counts that the scores hold.

    metrics:
      - type: f1_score
        num_true_positives_field: num_tp
        num_false_positives_field: num_fp
        num_false_negatives_field: num_fn

The counts are summed over all samples before they are divided.
"""

from typing import Literal

from evalwright.metrics.base import Name
from evalwright.metrics.ratios import CountsMetric, f1


class F1Score(CountsMetric):
    """2 TP / (2 TP + FP + FN). The counts are summed over all samples before they are divided."""

    type: Literal["f1_score"]
    num_true_positives_field: Name
    """The score that says how many things were rightly found in a sample."""
    num_false_positives_field: Name
    """The score that says how many things were wrongly found in a sample."""
    num_false_negatives_field: Name
    """The score that says how many things were missed in a sample."""

    divide = staticmethod(f1)
