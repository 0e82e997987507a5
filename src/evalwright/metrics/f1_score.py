"""`f1_score`: 2 TP / (2 TP + FP + FN), computed from counts in the scores.

    metrics:
      - type: f1_score
        num_true_positives_field: num_tp
        num_false_positives_field: num_fp
        num_false_negatives_field: num_fn

Each count is summed over all samples before the ratio is computed.
"""

from typing import ClassVar, Literal

from evalwright.metrics.base import Name
from evalwright.metrics.ratios import CountsMetric, f1
from evalwright.metrics.terms import Form


class F1Score(CountsMetric):
    """2 TP / (2 TP + FP + FN). The counts are summed over all samples before they are divided."""

    type: Literal["f1_score"]
    num_true_positives_field: Name
    """Score with the number of true positives in a sample."""
    num_false_positives_field: Name
    """Score with the number of false positives in a sample."""
    num_false_negatives_field: Name
    """Score with the number of false negatives in a sample."""

    divide = staticmethod(f1)
    form: ClassVar[Form] = "f1"
