"""`llm_rubric`: correct if a judge model says that the answer meets a rubric.

    scorers:
      - type: llm_rubric
        model_key: openai/gpt-4.1-mini
        rubric: The answer names the capital and says nothing else.

    scorers:
      - type: llm_rubric
        model_key: openai/gpt-4.1-mini
        rubric: The answer agrees with the reference. Other wording with the same meaning is fine.
        reference: "{{ sample.answer }}"

The prompt is built in. It contains the rubric, the question, the reference if there is one, and the
answer. All of these except the rubric are enclosed in markers that cannot occur in them. The judge
replies with its reasoning and the verdict `pass` or `fail`, as JSON. A reply without a verdict
makes the sample fail. To use a scale or your own prompt, use `model_as_a_judge_scorer`. This scorer
is an evalwright extension.
"""

from typing import ClassVar, Literal, Self

from pydantic import PrivateAttr

from evalwright.ports import Case
from evalwright.scorers.base import render_value, template_variables
from evalwright.scorers.judging.ready_judge import (
    PromptPart,
    ReadyJudge,
    Rubric,
    build_prompt,
    explain_reply,
    show_parts,
)
from evalwright.scorers.judging.shown_text import ShownText
from evalwright.templates import Template
from evalwright.types import Message, Score

_TASK = "You are a strict and fair grader. You decide whether an answer meets a rubric."
PASS, FAIL = "pass", "fail"


class LlmRubric(ReadyJudge):
    """Scores `is_correct`: whether the judge says that the answer meets the rubric."""

    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)
    correct_labels: ClassVar[tuple[str, ...]] = (PASS,)
    incorrect_labels: ClassVar[tuple[str, ...]] = (FAIL,)

    type: Literal["llm_rubric"]
    rubric: Rubric
    """What the answer must be like to pass. May refer to `sample`."""
    reference: Template | None = None
    """Text that the judge may compare the answer with, such as a correct answer. May refer to
    `sample`."""
    value: Template | None = None
    """Text to judge. May refer to `sample` and `solver_output`. Default: the text of the last
    assistant message. Required in tasks without a solver."""

    _is_swapped: bool = PrivateAttr(default=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """`pass` and `fail`."""
        return (*self.correct_labels, *self.incorrect_labels)

    def swap_parts(self) -> Self:
        """Return the judge with the answer before the reference and the question."""
        swapped = self.model_copy()
        swapped._is_swapped = True  # noqa: SLF001 - its own private attribute
        return swapped

    def prompts(self, case: Case) -> tuple[Message, ...]:
        """Return the rubric and the fenced material."""
        reply = explain_reply("Does the answer meet the rubric?", self.labels)
        rubric = self.rubric.render(sample=case.sample.data)
        return build_prompt(_TASK, rubric, self._parts(case), reply)

    def shown_text(self, case: Case) -> ShownText:
        """Return all of the material."""
        return show_parts(self._parts(case))

    def _parts(self, case: Case) -> list[PromptPart]:
        reference = self.reference.render(**template_variables(case)) if self.reference else ""
        parts = [
            PromptPart("Question", self.render_question(case)),
            PromptPart("Reference", reference),
            PromptPart("Answer", render_value(self.value, case), is_required=True),
        ]
        return parts[::-1] if self._is_swapped else parts

    def make_score(self, verdict: str) -> Score:
        """Score a pass or a fail."""
        passes = verdict == PASS
        return Score(
            values={"is_correct": passes},
            correct=passes,
            reason="" if passes else f"the judge's verdict: `{verdict}`",
            metadata={"prediction": verdict},
        )
