from typing import Any

from tests.metrics.cases import measures

FIELDS = {"type": "multiclass-classification", "field_gt": "gt", "field_pred": "pred"}


def rows(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"gt": gt, "pred": pred} for gt, pred in pairs]


def test_accuracy_and_each_class_of_either_field() -> None:
    found = measures(FIELDS, rows(("a", "a"), ("a", "b"), ("b", "b"), ("b", "c")))

    assert {one.name: one.value for one in found} == {
        "accuracy": 0.5,
        "a_precision": 1.0,
        "a_recall": 0.5,
        "b_precision": 0.5,
        "b_recall": 0.5,
        "c_precision": 0.0,
        "c_recall": None,
    }
    assert all(one.interval for one in found if one.value is not None)


def test_null_is_left_out_and_counted() -> None:
    accuracy, *_ = measures(FIELDS, rows((1, 1), (None, 1), (2, None)))

    assert (accuracy.value, accuracy.n) == (1.0, 1)
    assert accuracy.reason == "2 of 3 scores have no value"


def test_without_scores_accuracy_is_undefined() -> None:
    (found,) = measures(FIELDS, [])

    assert (found.name, found.value, found.reason) == ("accuracy", None, "there are no scores")
