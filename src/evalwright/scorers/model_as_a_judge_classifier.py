"""`model_as_a_judge_classifier`: correct if a judge model returns one of the `correct_labels`.

    scorers:
      - type: model_as_a_judge_classifier
        model_key: openai/gpt-4.1-mini
        user_prompt: |
          Ground truth: {{ sample.answer }}
          Answer: <answer>{{ solver_output.output }}</answer>
          Reply with 'correct' or 'incorrect' and nothing else.
        correct_labels: [correct]
        incorrect_labels: [incorrect]
        use_structured_outputs: true

The verdict is one of the labels, in upper or lower case. It can be the whole reply, the last line,
a line such as `Verdict: correct`, or the `prediction` key of a JSON object. `verdict_position` and
`verdict_pattern` can specify a different place. Any other reply makes the sample fail, and the
error message names the rule and quotes the reply. The guide to judges has the exact rules.
"""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalwright.components import Title
from evalwright.scorers.judging.judge_spec import JudgeSpec
from evalwright.scorers.judging.verdict_values import LabelReader
from evalwright.types import Score

KEYS = ("prediction", "label", "verdict", "classification")
FALLBACK_KEYS = ("result", "answer", "judgment", "judgement", "evaluation")
"""Keys that are read if their value is a label."""

LabelList = Annotated[list[Title], Field(min_length=1)]


class ModelAsAJudgeClassifier(JudgeSpec):
    """Scores `is_correct`: whether the judge's label is one of `correct_labels`."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)

    type: Literal["model_as_a_judge_classifier"]
    correct_labels: LabelList
    """Labels for a correct answer. All labels must differ in more than quotation marks or a final
    period. If two differ only in case, a reply must match the case of one of them."""
    incorrect_labels: LabelList
    """Labels for an incorrect answer. If the reply is in neither list, the sample fails."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that the judge may use."""
        return (*self.correct_labels, *self.incorrect_labels)

    @property
    def verdict_schema(self) -> tuple[str, str, dict[str, Any]]:
        """Return the schema for one of the labels."""
        return "verdict", "prediction", {"type": "string", "enum": [*self.labels]}

    @cached_property
    def reader(self) -> LabelReader:
        """Return a reader for one of the labels."""
        return LabelReader(self.labels, keys=KEYS, fallback_keys=FALLBACK_KEYS)

    def make_score(self, verdict: str) -> Score:
        """Score the label as correct or incorrect, depending on its list."""
        right = verdict in self.correct_labels
        return Score(
            values={"is_correct": right},
            correct=right,
            reason="" if right else f"the judge's verdict: `{verdict}`",
            metadata={"prediction": verdict},
        )
