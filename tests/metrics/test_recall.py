import pytest
from tests.metrics.cases import measure

FIELDS = {"type": "recall", "num_true_positives_field": "tp", "num_false_negatives_field": "fn"}


def test_the_counts_are_summed_first() -> None:
    found = measure(FIELDS, [{"tp": 1, "fn": 0}, {"tp": 1, "fn": 8}])

    assert (found.name, found.value, found.n) == ("recall", 0.2, 2)


def test_a_denominator_of_zero_is_undefined() -> None:
    found = measure(FIELDS, [{"tp": 0, "fn": 0}] * 3)

    assert (found.value, found.interval) == (None, None)
    assert found.reason == "undefined: the denominator is zero"


def test_nothing_missed_is_no_certainty() -> None:
    found = measure(FIELDS, [{"tp": 2, "fn": 0}] * 10)

    assert found.value == 1.0
    assert found.interval is not None
    assert found.interval.method == "bound"
    assert found.interval.low < 0.8


def test_null_is_left_out_with_its_sample() -> None:
    found = measure(FIELDS, [{"tp": 1, "fn": 1}, {"tp": None, "fn": 5}, {"tp": 1}])

    assert (found.value, found.n) == (0.5, 1)
    assert found.reason == "2 of 3 scores have no value"


def test_a_negative_count_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected counts of 0 or more in `fn`, got `-1`"):
        measure(FIELDS, [{"tp": 1, "fn": -1}])


def test_a_name_of_its_own() -> None:
    assert measure({**FIELDS, "name": "r"}, []).name == "r"
