"""Lesson 71, the metrics: each takes a prediction and targets, and returns a number in [0, 1]."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import evalwright as ew

NAMES = ["exact_match", "accuracy", "f1", "bleu_4", "rouge_l"]


def metric(name: str) -> Callable[[str, list[str]], float]:
    function: Callable[[str, list[str]], float] = getattr(ew.metrics, name)
    return function


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_record_s_metric_is_its_function(name: str) -> None:
    schema: Any = ew.schema("records")

    assert name in schema["properties"]["metric_name"]["enum"]
    assert metric(name)("the bridge is closed", ["the bridge is closed"]) == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_best_target_counts(name: str) -> None:
    score = metric(name)
    targets = ["a red car", "the bridge is closed today"]

    assert score("the bridge is closed", targets) == max(
        score("the bridge is closed", [target]) for target in targets
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prediction", ["", "?!", "one", "one two two", "ONE two 三", "x " * 500])
def test_a_score_is_in_the_unit_interval(name: str, prediction: str) -> None:
    assert 0 <= metric(name)(prediction, ["one two", "", "三 one"]) <= 1


@pytest.mark.parametrize(
    ("name", "prediction", "target", "expected"),
    [
        pytest.param("exact_match", " 41\n", "41", 1, id="stripped"),
        pytest.param("exact_match", "Paris", "paris", 0, id="case counts"),
        pytest.param("accuracy", "negative", "negative", 1, id="accuracy compares alike"),
        pytest.param("f1", "the cat sat", "cat sat down now", 4 / 7, id="f1"),
        pytest.param("f1", "a a b", "a b b", 2 / 3, id="f1 counts words as often as they occur"),
        pytest.param("f1", "", "", 1, id="f1 of nothing and nothing"),
        pytest.param("f1", "", "a", 0, id="f1 of nothing"),
        pytest.param("rouge_l", "the cat sat", "the sat cat", 2 / 3, id="rouge_l keeps the order"),
        pytest.param("rouge_l", "", "a", 0, id="rouge_l of nothing"),
        pytest.param("bleu_4", "", "a", 0, id="bleu_4 of nothing"),
        pytest.param(
            "bleu_4",
            "the bridge is open",
            "the bridge is closed",
            (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25,
            id="bleu_4 adds one to every order",
        ),
        pytest.param(
            "bleu_4", "a b", "a b c d", math.exp(1 - 4 / 2), id="bleu_4 has a brevity penalty"
        ),
    ],
)
def test_values_by_hand(name: str, prediction: str, target: str, expected: float) -> None:
    assert metric(name)(prediction, [target]) == pytest.approx(expected)


def test_words_are_lowercase_runs_of_letters_and_digits() -> None:
    assert ew.metrics.f1("Don't stop!", ["don t STOP"]) == 1
    assert ew.metrics.rouge_l("Ça va", ["ça, va."]) == 1


def test_the_bleu_of_a_corpus_sums_before_it_divides() -> None:
    predictions, targets = ["a b c d", "a b c d e f"], [["a b c d"], ["a b c x e f"]]

    bleu = ew.metrics.corpus_bleu(predictions, targets)

    assert bleu == pytest.approx((9 / 10 * 6 / 8 * 3 / 6 * 1 / 4) ** 0.25)
    assert ew.metrics.corpus_bleu(["a b c d"], [["a b c d"]]) == 1
    assert ew.metrics.corpus_bleu(["x"], [["y"]]) == 0


@pytest.mark.parametrize("name", [*NAMES, "code_exec"])
def test_no_target_is_an_error_that_says_so(name: str) -> None:
    with pytest.raises(ValueError, match="`targets` is empty"):
        metric(name)("x", [])


@pytest.mark.parametrize("task", ew.load_fixtures(), ids=lambda task: task.task_id)
def test_the_target_of_a_fixture_has_full_marks(task: ew.TaskSpec) -> None:
    if task.metric_name == "code_exec":
        answer = f"```python\n{task.metadata['solution']}\n```"
        if task.post_process == "none":
            answer = str(task.metadata["solution"])
    else:
        answer = task.targets[0]

    score = ew.score_answer(task, answer)

    assert (score.values["score"], score.correct, score.reason) == (1, True, "")


@pytest.mark.parametrize(
    ("answer", "value", "correct"),
    [("the bridge is closed", 1.0, True), ("the bridge", 2 / 3, True), ("a boat", 0.0, False)],
)
def test_a_graded_answer_counts_as_right_from_one_half(
    answer: str, value: float, *, correct: bool
) -> None:
    task = ew.validate_task(
        {
            "task_id": "news",
            "category": "summary",
            "prompt": "Shorten: the old bridge is closed.",
            "targets": ["the bridge is closed"],
            "metric_name": "rouge_l",
            "post_process": "none",
        }
    )
    score = ew.score_answer(task, answer)

    assert score.values["score"] == pytest.approx(value)
    assert score.correct is correct
