import time
from typing import Any

import pytest
from tests.metrics.cases import measure, of

MEAN = {"type": "mean", "field": "x"}


@pytest.mark.parametrize(
    ("values", "expected", "method"),
    [
        pytest.param([True, False, True, True], 0.75, "wilson", id="truth values are 1 and 0"),
        pytest.param([1, 0], 0.5, "wilson", id="whole numbers that are 1 and 0"),
        pytest.param([1, 1, 1], 1.0, "wilson", id="all right"),
        pytest.param([0.5, 0.25], 0.375, "bootstrap-t", id="graded"),
        pytest.param([0.5, 0.5], 0.5, "bound", id="graded and all equal"),
        pytest.param([1, 2, 3], 2.0, "student", id="any range, very few"),
        pytest.param([1, 2, 3, 4, 5, 9], 4.0, "bootstrap-t", id="any range, few"),
        pytest.param(list(range(30)), 14.5, "bca", id="any range"),
        pytest.param([-1.5, 1.5, -3, 3], 0.0, "student", id="below zero"),
    ],
)
def test_a_mean_and_its_interval(values: list[Any], expected: float, method: str) -> None:
    found = measure(MEAN, of(values))

    assert found.name == "x_mean"
    assert found.value == expected
    assert found.n == len(values)
    assert found.interval is not None
    assert found.interval.method == method
    assert found.interval.low <= expected <= found.interval.high
    assert found.interval.low < found.interval.high


@pytest.mark.parametrize(
    ("values", "value", "reason"),
    [
        pytest.param([], None, "there are no scores", id="no scores"),
        pytest.param([None, None], None, "2 of 2 scores have no value", id="only null"),
        pytest.param([7, 7], 7.0, "no interval: the values show no spread", id="all equal"),
        pytest.param([7], 7.0, "no interval: the values show no spread", id="one value"),
        pytest.param(
            [1.7e308, 1.5e308],
            1.6e308,
            "no interval: the values are too large to be squared",
            id="a sum beyond the largest number",
        ),
        pytest.param([7, float("inf")], None, "some values are infinite", id="infinite"),
    ],
)
def test_what_is_not_known_is_null_with_its_reason(
    values: list[Any], value: float | None, reason: str
) -> None:
    found = measure(MEAN, of(values))

    assert found.value == value
    assert found.interval is None
    assert found.reason == reason


@pytest.mark.parametrize("absent", [None, float("nan")], ids=["null", "NaN"])
def test_null_is_left_out_and_counted(absent: Any) -> None:
    found = measure(MEAN, of([1, absent, 0, 1, absent]))

    assert found.value == 2 / 3
    assert found.n == 3
    assert found.reason == "2 of 5 scores have no value"


def test_a_score_without_the_field_is_like_null() -> None:
    found = measure(MEAN, [{"x": 1}, {"y": 1}, {"x": 0}])

    assert (found.value, found.n) == (0.5, 2)
    assert found.reason == "1 of 3 scores have no value"


def test_a_text_is_no_number() -> None:
    with pytest.raises(ValueError, match=r"expected numbers in `x`, got `b` in score 2; 1 of 3"):
        measure(MEAN, of([1, "b", 2]))


def test_a_field_that_no_score_has_is_an_error_with_the_nearest() -> None:
    with pytest.raises(
        ValueError,
        match=r"no score has the field `x`; the fields are: `xx`, `b`; did you mean `xx`",
    ):
        measure(MEAN, [{"xx": 1, "b": 2}])


def test_a_name_of_its_own() -> None:
    assert measure({**MEAN, "name": "accuracy"}, of([1])).name == "accuracy"


def test_a_million_truth_values_take_milliseconds() -> None:
    values = of([True, False]) * 500_000
    from evalwright.metrics.mean import Mean
    from evalwright.metrics.scores import Scores

    scores = Scores({"x"})
    for one in values:
        scores.add(one, {})
    started = time.process_time()
    coroutine = Mean.model_validate(MEAN).measure(scores, seed=0, snippets=None)
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)

    assert done.value.value[0].value == 0.5
    assert time.process_time() - started < 0.5, "of CPU, on a machine that is busy"
