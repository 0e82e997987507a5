"""Action rules: what becomes of a sample after it was scored.

actions:
  - key: wrong_language
    action: exclude_from_metrics
    filter:
      op: not_equals
      expression: "{{ scores.language.label }}"
      value: en
"""

from collections.abc import Mapping
from typing import Any, Literal

from evalwright.components import Component, UserKey
from evalwright.objects import variables
from evalwright.rules.filters import AnyFilter


class ActionRule(Component):
    """A sample that matches the filter is in no metric of the task. Its scores are kept."""

    key: UserKey
    """What reports call this rule."""
    action: Literal["exclude_from_metrics"]
    """What is done with the sample."""
    filter: AnyFilter
    """Which samples: its expression sees `sample`, `solver_output`, and `scores` by the key of
    the scorer, such as `{{ scores.language.label }}`."""

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        """Whether it takes this sample out; ValueError or TypeError where that cannot be said."""
        # Reading a conversation costs more than most filters do.
        known = {"sample": sample}
        if conversation is not None and not self.filter.expression.names() <= {"sample", "scores"}:
            known = variables(sample, conversation)
        return self.filter.matches({**known, "scores": scores})
