import asyncio
import math
from typing import Any, Literal

import pytest
from msgspec import structs
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, case, chat, score

from evalwright.scorers.string_equals_mcqa import StringEqualsMcqa, validity
from evalwright.types import Sample

NOW = {
    "type": "string_equals_mcqa",
    "ground_truth_choice": "{{ sample.answer }}",
    "choices": "{{ sample.options }}",
}
OLD = {
    "type": "string_equals_mcqa",
    "ground_truth_choice_field": "answer",
    "choices_field": "options",
}
CITIES = ["Paris", "Rome", "Bern"]


@pytest.mark.parametrize("fields", [pytest.param(NOW, id="now"), pytest.param(OLD, id="older")])
@pytest.mark.parametrize(
    ("said", "predicted", "correct", "found"),
    [
        pytest.param("B", "B", True, "valid", id="the letter"),
        pytest.param("B) Rome", "B", True, "valid", id="the letter and more"),
        pytest.param("B\n", "B", True, "valid", id="the letter and a line end"),
        pytest.param("Because", "B", True, "valid", id="a word that begins with it, alas"),
        pytest.param("A", "A", False, "valid", id="another letter"),
        pytest.param("b", "b", False, "invalid", id="the letter in lower case"),
        pytest.param(" B", " ", False, "invalid", id="a space before it is not stripped"),
        pytest.param("\nB", "\n", False, "invalid", id="nor is a line end"),
        pytest.param("(B)", "(", False, "invalid", id="a bracket before it"),
        pytest.param("**B**", "*", False, "invalid", id="bold"),
        pytest.param("The answer is B", "T", False, "invalid", id="a sentence"),
        pytest.param("Rome", "R", False, "invalid", id="the text of the right choice"),
        pytest.param("D", "D", False, "invalid", id="one letter past the last"),
        pytest.param("", "", False, "unknown", id="nothing"),
        pytest.param(None, "", False, "unknown", id="no content"),
        pytest.param("В", "В", False, "invalid", id="a Cyrillic letter that looks like it"),  # noqa: RUF001 - the point
        pytest.param("🅱 B", "🅱", False, "invalid", id="a character outside the plane"),
        pytest.param("B\u0301", "B", True, "valid", id="a character is a code point"),
    ],
)
def test_the_first_character_is_the_prediction(
    fields: dict[str, Any], said: str | None, predicted: str, found: str, *, correct: bool
) -> None:
    score_of = score(fields, {"answer": "B", "options": CITIES}, chat(said))

    assert score_of.values == {"is_correct": correct}
    assert score_of.correct is correct
    assert score_of.metadata == {
        "ground_truth_choices": CITIES,
        "ground_truth_correct_choice": "B",
        "predicted_choice": predicted,
        "completion_validity": found,
    }
    assert bool(score_of.reason) is not correct


@pytest.mark.parametrize(
    ("predicted", "expected", "choices", "found"),
    [
        pytest.param("C", "A", ["A", "B", "C"], "valid", id="choices that are the letters"),
        pytest.param("D", "A", ["A", "B", "C"], "invalid", id="none of these letters"),
        pytest.param("A", "1", ["1", "2"], "invalid", id="choices that are digits"),
        pytest.param("2", "1", [1, 2], "valid", id="choices that are numbers"),
        pytest.param("C", "A", ["yes", "no", "?"], "valid", id="texts: one letter each"),
        pytest.param("D", "A", ["yes", "no", "?"], "invalid", id="texts: no fourth"),
        pytest.param("y", "y", ["yes", "no"], "valid", id="the ground truth is always one"),
        pytest.param("A", "A", [], "unknown", id="no choices"),
        pytest.param("", "A", ["A"], "unknown", id="no answer"),
        pytest.param("", "", ["A"], "unknown", id="no answer, though none is right"),
        pytest.param("Z", "A", ["x1"] * 40, "valid", id="the alphabet has an end"),
        pytest.param("[", "A", ["x1"] * 40, "invalid", id="and nothing behind it"),
        pytest.param("я", "д", ["я", "д"], "valid", id="any script"),
    ],
)
def test_validity(
    predicted: str,
    expected: str,
    choices: list[Any],
    found: Literal["valid", "invalid", "unknown"],
) -> None:
    assert validity(predicted, expected, choices) == found


@pytest.mark.parametrize(
    ("options", "read"),
    [
        pytest.param('["A", "B"]', ["A", "B"], id="JSON in a string"),
        pytest.param("['A', 'B']", ["A", "B"], id="Python in a string"),
        pytest.param(["it's", 'a "b"'], ["it's", 'a "b"'], id="a list with quotes of both kinds"),
        pytest.param(["é", "日本"], ["é", "日本"], id="a list in any script"),
        pytest.param([1, 2.5, None, True], [1, 2.5, None, True], id="a list of anything"),
        pytest.param([], [], id="an empty list"),
        pytest.param("\n [ ] \n", [], id="space around it"),
        pytest.param("('A', 'B')", ["A", "B"], id="a tuple"),
        pytest.param([["A", "x"], {"B": 1}], [["A", "x"], {"B": 1}], id="lists and dicts in it"),
    ],
)
def test_choices_are_read_as_json_and_else_as_python(options: Any, read: list[Any]) -> None:
    found = score(NOW, {"answer": "A", "options": options}, chat("A"))

    assert found.metadata["ground_truth_choices"] == read


@pytest.mark.parametrize(
    "options",
    [
        pytest.param("A, B", id="words"),
        pytest.param("", id="nothing"),
        pytest.param({"A": "Paris"}, id="a dict"),
        pytest.param("[A, B]", id="names without quotes"),
        pytest.param("['A', 'B'", id="no end"),
        pytest.param("[__import__('os').getcwd()]", id="code is not run"),
        pytest.param("[" * 100_000, id="too deep"),
        pytest.param(3, id="a number"),
        pytest.param(None, id="None"),
    ],
)
def test_choices_that_are_no_list_are_an_error(options: Any) -> None:
    with pytest.raises(ValueError, match="`choices` must render to a JSON or Python list, got"):
        score(NOW, {"answer": "A", "options": options}, chat("A"))


def test_a_ground_truth_that_no_answer_can_be_is_wrong_and_says_why() -> None:
    found = score(NOW, {"answer": "Paris", "options": CITIES}, chat("Paris"))

    assert found.values == {"is_correct": False}
    assert found.reason == "'Paris' is not a single character, but only one character is compared"


def test_a_wrong_choice_says_what_was_said() -> None:
    found = score(NOW, {"answer": "B", "options": CITIES}, chat("I think A"))

    assert found.reason == "'I think A' does not start with 'B'"


@pytest.mark.parametrize("column", ["right answer", 'a "b"', "größe", "items", "{{ x }}", "😀"])
def test_an_older_field_may_name_any_column(column: str) -> None:
    fields = {**NOW, "ground_truth_choice_field": column}
    del fields["ground_truth_choice"]

    assert score(fields, {column: "A", "options": CITIES}, chat("A")).correct


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"choices": "[]"}, id="no ground truth"),
        pytest.param({"ground_truth_choice": "A"}, id="no choices"),
        pytest.param(
            {"ground_truth_choice": "A", "ground_truth_choice_field": "a", "choices": "[]"},
            id="both spellings",
        ),
        pytest.param({"ground_truth_choice_field": 3, "choices": "[]"}, id="no column"),
        pytest.param({"ground_truth_choice_field": "", "choices": "[]"}, id="an empty column"),
        pytest.param({"ground_truth_choice": "A", "choices": "[]", "value": "a"}, id="no value"),
    ],
)
def test_what_is_no_scorer_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python({"type": "string_equals_mcqa", **fields})


def test_a_task_without_a_solver_has_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match="a task without a solver"):
        score(NOW, {"answer": "A", "options": CITIES})


def test_the_schema_knows_both_spellings() -> None:
    from jsonschema import Draft202012Validator

    schema = Draft202012Validator(StringEqualsMcqa.model_json_schema())
    mixed = {**NOW, "choices_field": "options"}

    assert schema.is_valid(NOW)
    assert schema.is_valid(OLD)
    assert not schema.is_valid(mixed)
    assert not schema.is_valid({"type": "string_equals_mcqa"})


@pytest.mark.parametrize(
    ("options", "answer", "labels"),
    [
        pytest.param(CITIES, "B", ("A", "B", "C"), id="one letter per choice"),
        pytest.param(["A", "B"], "B", ("A", "B"), id="choices that are letters"),
        pytest.param(["1", "2", "3"], "3", ("1", "2", "3"), id="choices that are digits"),
        pytest.param(["x", "x", "y"], "y", ("x", "y"), id="each once"),
    ],
)
def test_a_model_can_choose_from_the_labels(
    options: list[str], answer: str, labels: tuple[str, ...]
) -> None:
    scorer = SCORERS.validate_python(NOW)

    assert scorer.offered_labels(Sample("a", {"options": options, "answer": answer})) == labels


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(CITIES, "the choices offer A, B, C: no choice can be correct", id="others"),
        pytest.param([], "there are no choices: no choice can be correct", id="none"),
    ],
)
def test_labels_without_the_right_one_are_refused(options: list[str], message: str) -> None:
    scorer = SCORERS.validate_python(NOW)

    with pytest.raises(ValueError, match=message):
        scorer.offered_labels(Sample("a", {"options": options, "answer": "D"}))


def test_a_choice_by_likelihood_has_the_probability_of_each_option() -> None:
    weighed = {"A": math.log(0.2), "B": math.log(0.6)}
    made = case({"answer": "B", "options": CITIES}, chat("B"))
    chosen = structs.replace(made, answer=structs.replace(made.trace, options=weighed))

    found = asyncio.run(SCORERS.validate_python(NOW).score(chosen))

    assert found.correct
    assert found.metadata["options"] == pytest.approx({"A": 0.25, "B": 0.75})
