import pytest
from pydantic import ValidationError
from tests.metrics.cases import METRICS, measure, of

FIELDS = {"type": "weighted_average", "field": "x", "weights": {"good": 1, "fair": 0.5, "poor": 0}}


def test_it_is_the_mean_of_the_weights() -> None:
    found = measure(FIELDS, of(["good", "fair", "good", None]))

    assert (found.name, found.value, found.n) == ("x_weighted_average", 2.5 / 3, 3)
    assert found.interval is not None
    assert found.reason == "1 of 4 scores have no value"


def test_a_label_without_a_weight_is_an_error() -> None:
    with pytest.raises(
        ValueError, match="no weight for `god`; it has: `good`, `fair`, `poor`; did you mean `good`"
    ):
        measure(FIELDS, of(["god"]))


def test_weights_may_have_any_range() -> None:
    found = measure({**FIELDS, "weights": {"1": -10, "True": 10}, "name": "w"}, of([1, True]))

    assert (found.name, found.value) == ("w", 0.0)


def test_there_must_be_a_weight() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        METRICS.validate_python({**FIELDS, "weights": {}})
