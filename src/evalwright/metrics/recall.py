"""`recall`: TP / (TP + FN), computed from counts in the scores.

    metrics:
      - type: recall
        num_true_positives_field: num_tp
        num_false_negatives_field: num_fn

Each count is summed over all samples before the ratio is computed.
"""

from typing import Literal

from evalwright.metrics.base import Name
from evalwright.metrics.ratios import CountsMetric


class Recall(CountsMetric):
    """TP / (TP + FN). The counts are summed over all samples before they are divided."""

    type: Literal["recall"]
    num_true_positives_field: Name
    """Score with the number of true positives in a sample."""
    num_false_negatives_field: Name
    """Score with the number of false negatives in a sample."""
