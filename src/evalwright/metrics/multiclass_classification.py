"""`multiclass-classification`: how well predictions match the true classes.

    metrics:
      - type: multiclass-classification
        field_gt: expected
        field_pred: answered

Every value that occurs in the scores is a class.
"""

from typing import Literal

from evalwright.metrics.base import Name, ScoreMetric, describe_missing
from evalwright.metrics.ratios import accuracy, class_ratio, confusion_matrix
from evalwright.metrics.scores import Measure, Scores


class MulticlassClassification(ScoreMetric):
    """Accuracy, and the precision and recall of each class.

    The classes are all values of both fields, as strings. A sample in which either field is missing
    is excluded.
    """

    type: Literal["multiclass-classification"]
    field_gt: Name
    """Score with the true class."""
    field_pred: Name
    """Score with the predicted class."""

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute `accuracy`, and `{class}_precision` and `{class}_recall`, class by class."""
        del seed
        truth, prediction = scores.column(self.field_gt), scores.column(self.field_pred)
        classes = sorted({*truth.labels().texts, *prediction.labels().texts})
        counts = confusion_matrix(truth, prediction, classes)
        absent = describe_missing(scores.n - int(counts.sum()), scores.n)
        return [
            accuracy(counts, absent),
            *(
                class_ratio(kind, counts, place, absent=absent, name=f"{label}_{kind}")
                for place, label in enumerate(classes)
                for kind in ("precision", "recall")
            ),
        ]
