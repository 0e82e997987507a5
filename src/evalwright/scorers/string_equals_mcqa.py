"""`string_equals_mcqa`: correct if the answer starts with the letter of the correct choice.

    scorers:
      - type: string_equals_mcqa
        ground_truth_choice: "{{ sample.answer }}"      # renders to `A`
        choices: "{{ sample.options }}"                 # renders to a JSON or Python list

The predicted choice is the first character of the last assistant message, unchanged: `A) Paris`
predicts `A`, but ` A` predicts a space and `The answer is A` predicts `T`. The prompt should
therefore ask for the letter only. For an empty answer, the predicted choice is an empty string.

`completion_validity` in the metadata does not affect the score. Its values are:

    valid      the predicted choice is the ground truth or a label; the labels are the choices
               themselves if each is one character long, otherwise `A`, `B`, `C` and so on
    invalid    the predicted choice is any other character
    unknown    the answer is empty, or there are no choices

With `--mcq loglikelihood`, the model does not generate an answer. Instead, the likelihood of each
label is computed, and `options` in the metadata contains the probability of each label.

The deprecated keys `ground_truth_choice_field` and `choices_field` take column names instead of
templates.
"""

from collections.abc import Sequence
from json import dumps
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, model_validator

from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec, answer_text, read_list, short
from evalwright.stats.likelihood import shares
from evalwright.templates import Template
from evalwright.types import Sample, Score

Validity = Literal["valid", "invalid", "unknown"]
_OLD = {"ground_truth_choice_field": "ground_truth_choice", "choices_field": "choices"}


def _add_deprecated_fields(schema: dict[str, Any]) -> None:
    """Add the deprecated keys to the schema for editors."""
    for old, new in _OLD.items():
        meaning = f"Deprecated: use `{new}`. Name of the column."
        schema["properties"][old] = {"type": "string", "description": meaning, "deprecated": True}
    schema["required"] = [key for key in schema["required"] if key not in _OLD.values()]
    schema["allOf"] = [
        {"oneOf": [{"required": [new]}, {"required": [old]}]} for old, new in _OLD.items()
    ]


class StringEqualsMcqa(ScorerSpec):
    """Scores `is_correct`: whether the first character of the answer is the correct choice."""

    model_config = ConfigDict(json_schema_extra=_add_deprecated_fields)
    score_names: ClassVar[tuple[str, ...] | None] = ("is_correct",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "is_correct"),)
    deprecated: ClassVar[dict[str, str]] = _OLD
    """Deprecated field names, each with its current name."""

    type: Literal["string_equals_mcqa"]
    ground_truth_choice: Template
    """Correct choice, which the answer must start with. May refer to `sample`."""
    choices: Template
    """Possible choices: a template that renders to a JSON or Python list. May refer to `sample`."""

    @model_validator(mode="before")
    @classmethod
    def _convert_columns(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        current = dict(fields)
        for old, new in _OLD.items():
            column = current.pop(old, None)
            if column is None:
                continue
            if current.get(new) is not None:
                raise ValueError(f"use either `{new}` or the deprecated `{old}`, not both")
            if not isinstance(column, str) or not column:
                raise ValueError(f"`{old}` must be the name of a column, got {column!r}")
            current[new] = f"{{{{ sample[{dumps(column, ensure_ascii=False)}] }}}}"
        return current

    def offered_labels(self, sample: Sample) -> tuple[str, ...]:
        """Return the labels to choose from; ValueError if no choice can be correct."""
        expected, choices = self._read_choices(sample)
        labels = tuple(dict.fromkeys(choice_labels(choices)))
        if expected not in labels:
            offered = f"the choices offer {', '.join(labels)}" if labels else "there are no choices"
            raise ValueError(
                f"the correct choice is {short(expected)}, but {offered}: no choice can be "
                "correct; fix `ground_truth_choice` or `choices`"
            )
        return labels

    def _read_choices(self, sample: Sample) -> tuple[str, list[Any]]:
        expected = self.ground_truth_choice.render(sample=sample.data)
        return expected, read_list(self.choices.render(sample=sample.data), field="choices")

    async def score(self, case: Case) -> Score:
        """Compare the first character with the correct choice."""
        answer = answer_text(case)
        expected, choices = self._read_choices(case.sample)
        log_likelihoods = case.trace.options
        predicted = answer[:1]
        equal = predicted == expected
        reason = ""
        if len(expected) > 1:
            reason = (
                f"{short(expected)} is not a single character, but only one character is compared"
            )
        elif not equal:
            reason = f"{short(answer)} does not start with {short(expected)}"
        return Score(
            values={"is_correct": equal},
            correct=equal,
            reason=reason,
            metadata={
                "ground_truth_choices": choices,
                "ground_truth_correct_choice": expected,
                "predicted_choice": predicted,
                "completion_validity": validity(predicted, expected, choices),
                **({"options": shares(log_likelihoods)} if log_likelihoods else {}),
            },
        )


def validity(predicted: str, expected: str, choices: list[Any]) -> Validity:
    """Return whether the predicted choice is one of the possible choices."""
    if not predicted or not choices:
        return "unknown"
    return "valid" if predicted in {expected, *choice_labels(choices)} else "invalid"


def choice_labels(choices: list[Any]) -> Sequence[str]:
    """Return the choices if each has one character, otherwise one capital letter per choice."""
    texts = [str(choice) for choice in choices]
    return texts if all(len(text) == 1 for text in texts) else ascii_uppercase[: len(texts)]
