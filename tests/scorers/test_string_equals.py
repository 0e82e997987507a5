from typing import Any

import pytest
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, chat, said, score

TARGET = {"type": "string_equals", "ground_truth": "{{ sample.target }}"}


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        pytest.param("Paris", "Paris", True, id="the same text"),
        pytest.param("paris", "Paris", False, id="case counts"),
        pytest.param(" Paris", "Paris", False, id="a space before counts"),
        pytest.param("Paris\n", "Paris", False, id="a line end counts"),
        pytest.param("Paris\n", "Paris\n", True, id="a line end can be asked for"),
        pytest.param("Paris, France", "Paris", False, id="a longer answer is not equal"),
        pytest.param("", "", True, id="both empty"),
        pytest.param("", "Paris", False, id="an empty answer"),
        pytest.param("Zürich 🏔", "Zürich 🏔", True, id="any script"),
        pytest.param("Zu\u0308rich", "Zürich", False, id="not normalised"),
        pytest.param("{{ sample.target }}", "{{ sample.target }}", True, id="data is no template"),
        pytest.param("5", 5, True, id="a number is compared as it prints"),
        pytest.param("5.0", 5, False, id="so 5.0 is not 5"),
        pytest.param("True", True, True, id="true prints as True"),
        pytest.param("['a', 'b']", ["a", "b"], True, id="a list prints as Python does"),
        pytest.param("None", None, True, id="nothing prints as None"),
    ],
)
def test_the_rendered_texts_are_compared(answer: str, target: Any, *, equal: bool) -> None:
    found = score(TARGET, {"target": target}, chat(answer))

    assert found.values == {"is_correct": equal}
    assert found.correct is equal
    compared = {"answer_gt": str(target), "answer_pred": answer}
    assert found.metadata.items() >= compared.items()


def test_a_wrong_answer_says_what_was_compared() -> None:
    found = score(TARGET, {"target": "Bern"}, chat("Zürich"))

    assert found.reason == "'Zürich' against 'Bern'"


def test_of_long_texts_the_reason_has_the_beginning() -> None:
    found = score(TARGET, {"target": "b" * 81}, chat("a" * 80))

    assert found.reason == f"'{'a' * 80}' against '{'b' * 80}…'"


def test_a_right_answer_needs_no_reason() -> None:
    assert score(TARGET, {"target": "a"}, chat("a")).reason == ""


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("{{ solver_output.output.choices[0].message.content }}", id="old attributes"),
        pytest.param(
            "{{ solver_output['output']['choices'][0]['message']['content'] }}", id="keys"
        ),
        pytest.param("{{ solver_output.output }}", id="the output printed"),
        pytest.param("{{ model_output }}", id="the last output"),
        pytest.param("{{ model_outputs[-1] }}", id="the outputs"),
        pytest.param("{{ messages[-1].content }}", id="the messages"),
        pytest.param("{{ trace.get_last_assistant_text() }}", id="the trace"),
        pytest.param("{{ input_prompt }}", id="input_prompt is the answer"),
    ],
)
def test_a_value_may_refer_to_all_that_the_solver_left(value: str) -> None:
    found = score({**TARGET, "value": value}, {"target": "Nairobi"}, chat("Nairobi"))

    assert found.values == {"is_correct": True}


def test_a_value_may_forgive_what_the_comparison_does_not() -> None:
    fields = {
        "type": "string_equals",
        "ground_truth": "{{ sample.target | lower }}",
        "value": "{{ solver_output.output | string | trim | lower }}",
    }

    assert score(fields, {"target": "Paris"}, chat(" PARIS\n")).correct


def test_without_a_solver_the_value_is_what_is_compared() -> None:
    fields = {**TARGET, "value": "{{ sample.guess }}"}

    assert score(fields, {"target": "a", "guess": "a"}).correct


def test_without_a_solver_and_a_value_there_is_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match=r"a task without a solver .* set `value`"):
        score(TARGET, {"target": "a"})


def test_an_output_that_is_no_chat_needs_a_value() -> None:
    custom = {"items": [], "raw_outputs": [{"label": "a"}], "direct_ios": []}

    with pytest.raises(ValueError, match="no assistant message to compare: set `value`"):
        score(TARGET, {"target": "a"}, custom)
    assert score(
        {**TARGET, "value": "{{ solver_output.output.label }}"}, {"target": "a"}, custom
    ).correct


def test_a_conversation_without_an_assistant_is_an_error_and_no_wrong_answer() -> None:
    with pytest.raises(ValueError, match="no assistant message"):
        score(TARGET, {"target": ""}, {"items": [said("user", "hello?")]})


def test_a_recorded_conversation_is_compared_by_its_last_assistant_message() -> None:
    items = [said("user", "?"), said("assistant", "a"), said("user", "?"), said("assistant", "b")]

    assert score(TARGET, {"target": "b"}, {"items": items}).correct


def test_an_answer_that_only_calls_functions_is_empty() -> None:
    assert score(TARGET, {"target": "a"}, chat(None)).metadata["answer_pred"] == ""


def test_a_column_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="target"):
        score(TARGET, {"answer": "a"}, chat("a"))


def test_the_ground_truth_does_not_see_the_answer() -> None:
    with pytest.raises(ValueError, match="solver_output"):
        score({**TARGET, "ground_truth": "{{ solver_output.output }}"}, {}, chat("a"))


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="no ground truth"),
        pytest.param({"ground_truth": 5}, id="a ground truth that is no text"),
        pytest.param({"ground_truth": "a", "grund_truth": "a"}, id="an unknown key"),
        pytest.param({"ground_truth": "a", "key": "a b"}, id="a key with a space"),
        pytest.param({"ground_truth": "a", "key": ""}, id="an empty key"),
        pytest.param({"ground_truth": "a", "key": "k" * 251}, id="a long key"),
        pytest.param({"ground_truth": "a", "purpose": "other"}, id="an unknown purpose"),
        pytest.param({"ground_truth": "{{ sample."}, id="no template"),
    ],
)
def test_what_is_no_scorer_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({"type": "string_equals", **fields})
