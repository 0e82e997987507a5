from typing import Any

import pytest
from pydantic import ValidationError
from tests.metrics.cases import METRICS, measures

from evalwright.stats.interval import wilson

FIELDS: dict[str, Any] = {
    "type": "binary-classification",
    "field_gt": "gt",
    "field_pred": "pred",
    "positive_answer": "spam",
    "negative_answer": "ham",
}


def pairs(*counted: tuple[Any, Any, int]) -> list[dict[str, Any]]:
    return [{"gt": gt, "pred": pred} for gt, pred, times in counted for _ in range(times)]


def test_all_eight_figures() -> None:
    values = pairs(("spam", "spam", 6), ("ham", "spam", 2), ("ham", "ham", 8), ("spam", "ham", 4))

    found = {one.name: one for one in measures(FIELDS, values)}

    assert {name: one.value for name, one in found.items()} == {
        "accuracy": 0.7,
        "precision": 0.75,
        "recall": 0.6,
        "f1_score": pytest.approx(2 / 3),
        "num_true_positives": 6,
        "num_false_positives": 2,
        "num_true_negatives": 8,
        "num_false_negatives": 4,
    }
    assert found["accuracy"].interval is not None
    assert found["accuracy"].interval.method == "wilson"
    assert found["recall"].interval == wilson(6, 10)
    assert found["num_true_positives"].interval is None


def test_a_sample_with_neither_answer_is_left_out_and_counted() -> None:
    values = pairs(("spam", "spam", 1), ("spam", "dunno", 1), (None, "ham", 1), ("eggs", "ham", 1))

    accuracy, *_ = measures(FIELDS, values)

    assert (accuracy.value, accuracy.n) == (1.0, 1)
    assert accuracy.reason == "3 of 4 samples have neither answer"


def test_values_are_compared_as_texts() -> None:
    fields = {**FIELDS, "positive_answer": True, "negative_answer": 0}

    accuracy, *_ = measures(fields, pairs((True, "True", 1), ("0", 0, 1)))

    assert (accuracy.value, accuracy.n) == (1.0, 2)


def test_what_has_a_denominator_of_zero_is_undefined() -> None:
    found = {one.name: one for one in measures(FIELDS, pairs(("ham", "ham", 3)))}

    assert found["accuracy"].value == 1.0
    assert [found[name].value for name in ("precision", "recall", "f1_score")] == [None] * 3
    assert found["precision"].reason == "undefined: the denominator is zero"


def test_without_scores_all_is_undefined_but_the_counts() -> None:
    assert [one.value for one in measures(FIELDS, [])] == [None] * 4 + [0] * 4


def test_the_two_answers_differ() -> None:
    with pytest.raises(
        ValidationError, match="expected two different answers, got `spam` for both"
    ):
        METRICS.validate_python({**FIELDS, "negative_answer": "spam"})
