"""What the templates of metrics say of each sample: its groups, and the names of contestants.

A label is text. Null, NaN, blank text and a missing column are no label.
"""

from collections import Counter
from collections.abc import Mapping
from json import dumps
from typing import Any

from evalwright.plan.finalization import Finalization
from evalwright.templates import Native, NotThere


class SampleLabels:
    """Reads the labels of samples, and counts the samples of each label."""

    def __init__(self, task: Finalization) -> None:
        self._expressions = {
            expression.source: expression
            for metric in task.metrics
            for expression in metric.expressions
        }
        self.scored: dict[str, Counter[str | None]] = {}
        """By template: the samples of each label, and under None those without a label."""
        self.excluded: dict[str, Counter[str | None]] = {}
        """By template: those of them that rules exclude."""
        self.errors: dict[str, ValueError] = {}
        """By template: the first failure to render it."""
        for source in self._expressions:
            self.scored[source], self.excluded[source] = Counter(), Counter()

    def read(
        self, sample: Mapping[str, Any], model: str, *, is_excluded: bool
    ) -> dict[str, str | None]:
        """Return the labels of one sample by template, and count it."""
        labels = {}
        for source, expression in self._expressions.items():
            label = labels[source] = self._read_label(expression, sample, model)
            self.scored[source][label] += 1
            self.excluded[source][label] += is_excluded
        return labels

    def _read_label(self, expression: Native, sample: Mapping[str, Any], model: str) -> str | None:
        try:
            return _label_text(expression.raw(sample=sample, model=model))
        except NotThere:
            return None
        except ValueError as error:
            self.errors.setdefault(expression.source, error)
            return None


def _label_text(value: Any) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN differs from itself
        return None
    if isinstance(value, str | int | float):
        return str(value).strip() or None
    return dumps(value, ensure_ascii=False, default=str)
