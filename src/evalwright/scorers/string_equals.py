"""`string_equals`: right when the value is exactly the ground truth.

    scorers:
      - type: string_equals
        ground_truth: "{{ sample.target }}"
        value: "{{ solver_output.output.choices[0].message.content | trim }}"   # optional

Every character counts: case, spaces and line ends too. To forgive them, say so in the templates.
"""

from typing import ClassVar, Literal

from evalwright.ports import Case
from evalwright.scorers.answers import compared
from evalwright.scorers.base import ScorerSpec, apart
from evalwright.templates import Template
from evalwright.types import Score


class StringEquals(ScorerSpec):
    """Scores `is_correct`: whether the rendered value equals the rendered ground truth."""

    gives: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["string_equals"]
    """The kind of scorer."""
    ground_truth: Template
    """What the value is compared with. May refer to `sample`."""
    value: Template | None = None
    """What is compared. May refer to `sample` and to what the solver made (`solver_output`).
    Without it, the text of the last assistant message; a task without a solver must give it."""

    async def score(self, case: Case) -> Score:
        """Compare the two texts."""
        actual, expected = compared(case, value=self.value, ground_truth=self.ground_truth)
        equal = actual == expected
        return Score(
            values={"is_correct": equal},
            correct=equal,
            reason="" if equal else apart(actual, expected),
            metadata={"answer_gt": expected, "answer_pred": actual},
        )
