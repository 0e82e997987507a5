"""`precision`: TP / (TP + FP), computed from counts in the scores.

    metrics:
      - type: precision
        num_true_positives_field: num_tp
        num_false_positives_field: num_fp

Each count is summed over all samples before the ratio is computed.
"""

from typing import Literal

from evalwright.metrics.base import Name
from evalwright.metrics.ratios import CountsMetric


class Precision(CountsMetric):
    """TP / (TP + FP). The counts are summed over all samples before they are divided."""

    type: Literal["precision"]
    num_true_positives_field: Name
    """Score with the number of true positives in a sample."""
    num_false_positives_field: Name
    """Score with the number of false positives in a sample."""
