"""How far several runs of the same task agree."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.engine.trials import MOST_FLAKY, Agreements, average_runs


def agreements(*samples: list[Any]) -> Agreements:
    """Of one score, sample by sample the values of every run."""
    made = Agreements()
    for ordinal, values in enumerate(samples):
        made.add(ordinal, f"s{ordinal}", {"judge": [{"ok": value} for value in values]})
    return made


def test_agreement_by_hand() -> None:
    made = agreements([True, True, True], [True, False, True], [False, False, False])

    (found,) = made.compute(seed=0)
    assert (found.scorer, found.score, found.n, found.flaky) == ("judge", "ok", 3, 1)
    assert found.mean == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert found.interval is not None
    assert found.interval.low < found.mean <= found.interval.high
    assert made.flaky == 1
    (flaky,) = made.worst()
    assert flaky.sample_id == "s1"
    assert flaky.agreement == pytest.approx(2 / 3)
    assert flaky.values == (("true", 2), ("false", 1))


@pytest.mark.parametrize(
    ("values", "flaky"),
    [
        pytest.param([1, True, 1.0], False, id="1 and true are the same"),
        pytest.param([None, math.nan], False, id="NaN is null"),
        pytest.param([{"a": 1, "b": 2}, {"b": 2, "a": 1}], False, id="objects by what is in them"),
        pytest.param(["نعم", "نعم", "لا"], True, id="texts, of any script"),
        pytest.param([0.1, 0.2], True, id="numbers that differ"),
        pytest.param([[1], [2]], True, id="lists that differ"),
    ],
)
def test_what_is_the_same(values: list[Any], flaky: bool) -> None:  # noqa: FBT001 - a column of the table
    assert bool(agreements(values).flaky) is flaky


def test_a_score_that_a_run_lacks_is_another_value() -> None:
    made = Agreements()
    made.add(0, "a", {"judge": [{"ok": 1}, {}]})

    assert made.worst()[0].values == (("1", 1), ("null", 1))


def test_the_most_flaky_come_first_and_of_equals_the_first() -> None:
    made = agreements([1, 2, 1, 1], [1, 2, 3, 4], [1, 2, 2, 1], [1, 2, 1, 1])

    assert [one.sample_id for one in made.worst()] == ["s1", "s2", "s0", "s3"]


def test_a_sample_is_listed_once_with_the_score_that_agrees_least() -> None:
    made = Agreements()
    runs = [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 3}]
    made.add(0, "x", {"judge": runs})

    assert [one.score for one in made.worst()] == ["b"]
    assert made.flaky == 1


def test_only_the_worst_are_kept_and_all_are_counted() -> None:
    most = 3 * MOST_FLAKY
    made = agreements(*([[0] * ordinal + [1] * (most - ordinal) for ordinal in range(1, most)]))

    assert made.flaky == most - 1
    assert len(made.worst()) == MOST_FLAKY
    middle = most // 2
    assert made.worst()[0].sample_id == f"s{middle - 1}"


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=120))
def test_the_list_is_that_of_a_sort_over_all(samples: list[list[int]]) -> None:
    shares = [max(Counter(values).values()) / 4 for values in samples]
    order = sorted(range(len(samples)), key=lambda one: (shares[one], one))
    expected = [f"s{one}" for one in order if shares[one] < 1][:MOST_FLAKY]

    assert [one.sample_id for one in agreements(*samples).worst()] == expected


def test_a_scorer_that_makes_up_names_does_not_fill_the_memory() -> None:
    made = Agreements()
    for ordinal in range(500):
        made.add(ordinal, str(ordinal), {"judge": [{f"n{ordinal}": 1}, {f"n{ordinal}": 2}]})

    assert len(list(made.compute(seed=0))) == 100


def test_averages_are_of_what_is_a_number_in_all_runs() -> None:
    runs = [{"ok": True, "label": "a", "n": 1}, {"ok": False, "label": "a", "n": None}]

    assert average_runs(runs) == {"ok": 0.5, "n": None}
