"""`multiclass-classification`: how well predictions match the true classes.

    metrics:
      - type: multiclass-classification
        field_gt: expected
        field_pred: answered

Every value that occurs in the scores is a class. `macro_f1` is the mean of the F1 scores of all
classes, `weighted_f1` weights each class by its number of samples, and `micro_f1` pools the counts
of all classes, which, with one label per sample, gives the accuracy.
"""

from typing import ClassVar, Literal

from msgspec import structs

from evalwright.metrics.base import Name, ScoreMetric, describe_missing
from evalwright.metrics.ratios import (
    accuracy,
    average_f1,
    class_ratio,
    confusion_matrix,
    macro_f1,
    weighted_f1,
)
from evalwright.metrics.scores import Measure, Scores


class MulticlassClassification(ScoreMetric):
    """Accuracy, averages of F1 over the classes, and precision, recall and F1 of each class.

    The classes are all values of both fields, as strings. A sample in which either field is missing
    is excluded.
    """

    version: ClassVar[int] = 2

    type: Literal["multiclass-classification"]
    field_gt: Name
    """Score with the true class."""
    field_pred: Name
    """Score with the predicted class."""

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute `accuracy`, `macro_f1`, …, then `{class}_precision`, `{class}_recall`, ….

        The last is `{class}_f1_score`.
        """
        truth, prediction = scores.column(self.field_gt), scores.column(self.field_pred)
        classes = sorted({*truth.labels().texts, *prediction.labels().texts})
        counts = confusion_matrix(truth, prediction, classes)
        absent = describe_missing(scores.n - int(counts.sum()), scores.n)
        correct = accuracy(counts, absent)
        return [
            correct,
            average_f1("macro_f1", counts, macro_f1, absent=absent, seed=seed),
            structs.replace(correct, name="micro_f1"),
            average_f1("weighted_f1", counts, weighted_f1, absent=absent, seed=seed),
            *(
                class_ratio(kind, counts, place, absent=absent, name=f"{label}_{kind}")
                for place, label in enumerate(classes)
                for kind in ("precision", "recall", "f1_score")
            ),
        ]
