import random
from typing import Any

import pytest
from tests.metrics.cases import measures

from evalwright.metrics.scores import Measure

FIELDS = {"type": "multiclass-classification", "field_gt": "gt", "field_pred": "pred"}


def rows(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"gt": gt, "pred": pred} for gt, pred in pairs]


def test_accuracy_averages_and_each_class_of_either_field() -> None:
    found = measures(FIELDS, rows(("a", "a"), ("a", "b"), ("b", "b"), ("b", "c")))

    values = {each.name: each.value for each in found}
    assert values.pop("c_recall") is None
    assert values == pytest.approx(
        {
            "accuracy": 0.5,
            "macro_f1": (2 / 3 + 1 / 2 + 0) / 3,
            "micro_f1": 0.5,
            "weighted_f1": (2 * 2 / 3 + 2 * 1 / 2) / 4,
            "a_precision": 1.0,
            "a_recall": 0.5,
            "a_f1_score": 2 / 3,
            "b_precision": 0.5,
            "b_recall": 0.5,
            "b_f1_score": 0.5,
            "c_precision": 0.0,
            "c_f1_score": 0.0,
        }
    )
    assert all(each.interval for each in found if each.value is not None)


def averages(*pairs: tuple[Any, Any]) -> dict[str, Measure]:
    found = measures(FIELDS, rows(*pairs))
    return {each.name: each for each in found if each.name.endswith("_f1")}


def test_the_averages_are_those_of_scikit_learn() -> None:
    # The example in the documentation of sklearn.metrics.f1_score.
    truth, prediction = (0, 1, 2, 0, 1, 2), (0, 2, 1, 0, 0, 1)

    found = averages(*zip(truth, prediction, strict=True))

    published = {"macro_f1": 0.26, "micro_f1": 0.33, "weighted_f1": 0.26}
    by_hand = {"macro_f1": 0.8 / 3, "micro_f1": 2 / 6, "weighted_f1": 0.8 / 3}
    values = {name: measure.value for name, measure in found.items()}
    assert values == pytest.approx(published, abs=0.01)
    assert values == pytest.approx(by_hand)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shares", "recalls", "least"),
    [
        pytest.param((0.4, 0.3, 0.3), (0.8, 0.7, 0.6), 0.91, id="three classes of similar size"),
        pytest.param((0.6, 0.3, 0.1), (0.9, 0.6, 0.3), 0.88, id="a class of ten samples"),
    ],
)
def test_the_interval_of_macro_f1_holds_the_value_of_the_population(
    shares: tuple[float, ...], recalls: tuple[float, ...], least: float
) -> None:
    # Of each class, so many are recognized; the others are taken for the next class.
    rng = random.Random(5)
    f1s = []
    for each in range(3):
        true_positives = shares[each] * recalls[each]
        false_positives = shares[each - 1] * (1 - recalls[each - 1])
        predicted = true_positives + false_positives
        f1s.append(2 * true_positives / (predicted + shares[each]))
    population = sum(f1s) / 3

    held, draws = 0, 300
    for _ in range(draws):
        truth = rng.choices(range(3), shares, k=100)
        pairs = [(t, t if rng.random() < recalls[t] else (t + 1) % 3) for t in truth]
        interval = averages(*pairs)["macro_f1"].interval
        assert interval
        held += interval.low <= population <= interval.high

    assert least * draws <= held <= 0.985 * draws


def test_all_right_has_a_bound_and_too_many_classes_have_no_interval() -> None:
    right = averages(*((letter, letter) for letter in "abcabcabc"))["macro_f1"]
    many = averages(*((n, n + n % 2) for n in range(400)))["macro_f1"]

    assert right.value == 1.0
    assert right.interval
    assert (right.interval.high, right.interval.method) == (1.0, "bound")
    assert 0 < right.interval.low < 1
    assert many.value is not None
    assert (many.interval, many.reason) == (None, "no interval: more than 150 classes")


def test_null_is_left_out_and_counted() -> None:
    accuracy, macro, *_ = measures(FIELDS, rows((1, 1), (None, 1), (2, None)))

    assert (accuracy.value, accuracy.n) == (1.0, 1)
    assert accuracy.reason == macro.reason == "2 of 3 scores have no value"


def test_without_scores_every_value_is_undefined() -> None:
    found = measures(FIELDS, [])

    assert [each.name for each in found] == ["accuracy", "macro_f1", "micro_f1", "weighted_f1"]
    assert {(each.value, each.reason) for each in found} == {(None, "there are no scores")}
