"""`binary-classification`: how well predictions match two possible answers.

    metrics:
      - type: binary-classification
        field_gt: expected
        field_pred: answered
        positive_answer: spam
        negative_answer: ham

The metric reports accuracy, precision, recall, F1 and the counts of true and false positives and
negatives.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator

from evalwright.metrics.base import Name, ScoreMetric, join_reasons
from evalwright.metrics.ratios import accuracy, class_ratio, confusion_matrix
from evalwright.metrics.scores import Measure, Scores

_NO_INTERVAL = "no interval: this count describes these samples only"


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, bool | int | float) else value


Answer = Annotated[str, BeforeValidator(_as_text)]


class BinaryClassification(ScoreMetric):
    """Accuracy, precision, recall, F1 and the four counts for two answers.

    Values are compared as strings. A sample is excluded if its true or predicted value is neither
    answer.
    """

    type: Literal["binary-classification"]
    field_gt: Name
    """Score with the true answer."""
    field_pred: Name
    """Score with the predicted answer."""
    positive_answer: Answer
    """Answer that counts as positive."""
    negative_answer: Answer
    """Answer that counts as negative."""

    @model_validator(mode="after")
    def _check_answers_differ(self) -> Self:
        if self.positive_answer == self.negative_answer:
            raise ValueError(
                f"expected two different answers, got `{self.positive_answer}` for both"
            )
        return self

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute `accuracy`, `precision`, `recall`, `f1_score`, `num_true_positives`, …."""
        del seed
        answers = [self.positive_answer, self.negative_answer]
        counts = confusion_matrix(
            scores.column(self.field_gt), scores.column(self.field_pred), answers
        )
        n = int(counts.sum())
        excluded = scores.n - n
        absent = f"{excluded} of {scores.n} samples have neither answer" if excluded else ""
        cells = {
            "num_true_positives": counts[0, 0],
            "num_false_positives": counts[1, 0],
            "num_true_negatives": counts[1, 1],
            "num_false_negatives": counts[0, 1],
        }
        return [
            accuracy(counts, absent),
            *(
                class_ratio(kind, counts, 0, absent=absent)
                for kind in ("precision", "recall", "f1_score")
            ),
            *(
                Measure(name, float(count), None, n, join_reasons(_NO_INTERVAL, absent))
                for name, count in cells.items()
            ),
        ]
