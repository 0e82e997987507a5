"""`multiclass-classification`: how well a score tells several classes apart.

    metrics:
      - type: multiclass-classification
        field_gt: expected
        field_pred: answered

The classes are those that the scores have.
"""

from typing import Literal

from evalwright.metrics.base import MetricSpec, Name, describe_missing
from evalwright.metrics.confusion import accuracy, confusion_matrix, precision_of, recall_of
from evalwright.metrics.scores import Measure, Scores
from evalwright.ports import Snippets


class MulticlassClassification(MetricSpec):
    """Accuracy, and of each class precision and recall.

    The classes are all values of both fields, as texts. A sample without one of them is left out.
    """

    type: Literal["multiclass-classification"]
    field_gt: Name
    """The score that holds the true class."""
    field_pred: Name
    """The score that holds the predicted class."""

    def fields(self) -> frozenset[str]:
        """The scores that it reads."""
        return frozenset({self.field_gt, self.field_pred})

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """`accuracy`, and `{class}_precision`, `{class}_recall` in the order of the classes."""
        del seed, snippets
        truth, said = scores.column(self.field_gt), scores.column(self.field_pred)
        classes = sorted({*truth.labels().texts, *said.labels().texts})
        counts = confusion_matrix(truth, said, classes)
        absent = describe_missing(scores.n - int(counts.sum()), scores.n)
        measures = [accuracy("accuracy", counts, absent)]
        for place, name in enumerate(classes):
            measures += [
                precision_of(f"{name}_precision", counts, place, absent=absent),
                recall_of(f"{name}_recall", counts, place, absent=absent),
            ]
        return measures
