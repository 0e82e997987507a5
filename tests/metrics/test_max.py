import pytest
from tests.metrics.cases import measure, of

FIELDS = {"type": "max", "field": "x"}


def test_the_value_has_no_interval_and_says_why() -> None:
    found = measure(FIELDS, of([1, -1, None, 3.0]))

    assert (found.name, found.value, found.n) == ("x_max", 3.0, 3)
    assert found.interval is None
    assert found.reason.startswith("no interval: ")
    assert found.reason.endswith("1 of 4 scores have no value")


def test_without_scores_it_is_undefined() -> None:
    found = measure({**FIELDS, "name": "n"}, [])

    assert (found.name, found.value, found.reason) == ("n", None, "there are no scores")


def test_truth_values_are_1_and_0() -> None:
    assert measure(FIELDS, of([True, True])).value == 1.0


def test_a_text_is_no_number() -> None:
    with pytest.raises(ValueError, match="expected numbers in `x`"):
        measure(FIELDS, of(["a"]))
