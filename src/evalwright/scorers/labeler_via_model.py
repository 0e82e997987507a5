"""`labeler_via_model`: a label assigned by a model to an answer or a sample.

    scorers:
      - type: labeler_via_model
        model_key: openai/gpt-4.1-mini
        user_prompt: |
          Which language is this? <text>{{ sample.text }}</text>
        valid_labels: [Arabic, English, German]

Without `valid_labels`, any single-line reply of at most 8 words is a label. With `valid_labels`,
any reply that is not one of these labels makes the sample fail, and the error message quotes the
reply.
"""

from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from evalwright.components import Title
from evalwright.scorers.judging.judge_spec import JudgeSpec
from evalwright.scorers.judging.verdict_values import FreeLabelReader, LabelReader
from evalwright.templates import Template
from evalwright.types import Score

KEYS = ("label", "prediction", "classification")


class LabelerViaModel(JudgeSpec):
    """Scores `label`: the label that the model assigned."""

    score_names: ClassVar[tuple[str, ...] | None] = ("label",)
    text_scores: ClassVar[tuple[str, ...]] = ("label",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("frequency", "label"),)

    type: Literal["labeler_via_model"]
    system_prompt: Template = Template(
        "You are a helpful assistant and will be used to label the output of another model "
        "or a dataset sample."
    )
    """System message. May refer to the same names as `user_prompt`. An empty message is not
    sent."""
    valid_labels: list[Title] = Field(default_factory=list)
    """Labels that the model may assign. They must differ in more than quotation marks or a final
    period. If two differ only in case, a reply must match the case of one of them. An empty list
    allows any single-line label of at most 8 words."""

    @property
    def verdict_schema(self) -> tuple[str, str, dict[str, Any]]:
        """Return the schema for one of the labels, or for any text."""
        labels = {"enum": [*self.valid_labels]} if self.valid_labels else {}
        return "label", "label", {"type": "string", **labels}

    @cached_property
    def reader(self) -> LabelReader | FreeLabelReader:
        """Return a reader for one of the labels, or for any short text."""
        if self.valid_labels:
            return LabelReader(self.valid_labels, keys=KEYS)
        return FreeLabelReader(keys=KEYS)

    def make_score(self, verdict: str) -> Score:
        """Return the label as the score."""
        return Score(values={"label": verdict}, metadata={"label": verdict})
