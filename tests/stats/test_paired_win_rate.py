import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.paired import win_rates

tables = st.tuples(st.integers(1, 5), st.integers(1, 20)).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


# By hand.
@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param({"a": [1, 1], "b": [0, 1]}, {"a": 0.75, "b": 0.25}, id="a tie is split"),
        pytest.param(
            {"a": [1, 0, 0], "b": [1, 1, 0], "c": [1, 1, 0]},
            {"a": 2 / 9, "b": 7 / 18, "c": 7 / 18},
            id="three ways",
        ),
        pytest.param({"a": [0, 0]}, {"a": 1.0}, id="alone, always the best"),
        pytest.param(
            {"a": [1, None, 0], "b": [0, 1, None]},
            {"a": 1.0, "b": 0.0},
            id="only tasks that all completed",
        ),
        pytest.param({"a": [None], "b": [1]}, {"a": None, "b": None}, id="no such task"),
        pytest.param({"a": [math.nan, 1], "b": [1, 0]}, {"a": 1.0, "b": 0.0}, id="NaN is no score"),
        pytest.param({"a": [], "b": []}, {"a": None, "b": None}, id="no tasks"),
        pytest.param({}, {}, id="no models"),
    ],
)
def test_rates_by_hand(
    scores: dict[str, list[float | None]], expected: dict[str, float | None]
) -> None:
    assert win_rates(scores) == pytest.approx(expected)


@given(tables)
def test_rates_sum_to_one(rows: list[list[float]]) -> None:
    rates = win_rates({f"model-{i}": row for i, row in enumerate(rows)})

    assert math.fsum(rate or 0 for rate in rates.values()) == pytest.approx(1)


@given(tables)
def test_nobody_wins_by_scoring_less(rows: list[list[float]]) -> None:
    scores = {f"model-{i}": row for i, row in enumerate(rows)}
    before = win_rates(scores)["model-0"]

    after = win_rates({**scores, "model-0": [0.0] * len(rows[0])})["model-0"]

    assert before is not None
    assert after is not None
    assert after <= before + 1e-12


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one score per sample for every model"):
        win_rates({"a": [1], "b": [1, 0]})
