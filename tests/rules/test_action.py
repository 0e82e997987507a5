from typing import Any

import pytest
from pydantic import ValidationError

from evalwright.rules.filters import ActionRule

CONVERSATION = {
    "items": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "ho"}],
        },
    ],
    "raw_outputs": [{"choices": [{"message": {"role": "assistant", "content": "ho"}}]}],
    "direct_ios": [],
}


def rule(**filter_: Any) -> ActionRule:
    return ActionRule.model_validate(
        {"key": "r", "action": "exclude_from_metrics", "filter": filter_}
    )


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        pytest.param(
            {"op": "equals", "expression": "{{ sample.lang }}", "value": "de"},
            True,
            id="of the sample",
        ),
        pytest.param(
            {"op": "equals", "expression": "{{ scores.language.label }}", "value": "en"},
            True,
            id="of a score",
        ),
        pytest.param(
            {"op": "is_true", "expression": "{{ scores['exact']['is_correct'] }}"},
            False,
            id="of a truth value",
        ),
        pytest.param(
            {
                "op": "equals",
                "expression": "{{ solver_output.output.choices[0].message.content }}",
                "value": "ho",
            },
            True,
            id="of the output",
        ),
        pytest.param(
            {"op": "exists", "expression": "{{ solver_output.output }}"},
            True,
            id="there is an output",
        ),
        pytest.param(
            {"op": "is_true", "expression": "{{ solver_output is defined }}"},
            True,
            id="asked for by a test",
        ),
        pytest.param(
            {"op": "exists", "expression": "{{ scores.gone.label }}"},
            False,
            id="of a scorer that failed",
        ),
    ],
)
def test_a_rule_applies(filter_: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
    scores: dict[str, dict[str, Any]] = {
        "language": {"label": "en"},
        "exact": {"is_correct": False},
    }

    assert rule(**filter_).applies({"lang": "de"}, CONVERSATION, scores) is expected


def test_a_task_without_solver_has_no_output() -> None:
    exists = rule(op="exists", expression="{{ solver_output.output }}")

    assert not exists.applies({"a": 1}, None, {})


def test_what_cannot_be_said_is_an_error() -> None:
    unclear = rule(op="equals", expression="{{ scores.language.label }}", value="en")

    with pytest.raises(ValueError, match=r"`scores\.language` does not exist"):
        unclear.applies({}, None, {})


@pytest.mark.parametrize("key", ["", "a b", "a.b", "x" * 251])
def test_a_key_is_a_user_key(key: str) -> None:
    given = {"op": "exists", "expression": "{{ sample.a }}"}

    with pytest.raises(ValidationError):
        ActionRule.model_validate({"key": key, "action": "exclude_from_metrics", "filter": given})


def test_there_is_one_action() -> None:
    with pytest.raises(ValidationError, match="exclude_from_metrics"):
        ActionRule.model_validate(
            {"key": "a", "action": "drop", "filter": {"op": "exists", "expression": "{{ a }}"}}
        )
