from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.datasets.generating.drawing import MOST, combined, drawn

SMALL = st.integers(1, 30)
SEEDS = st.none() | st.integers(0, 2**32)


def places(total: int, count: int | None, seed: int | None = None) -> list[int]:
    return [place for _, place in drawn(total, count, seed)]


def test_without_a_count_each_row_is_used_once() -> None:
    assert list(drawn(3, None)) == [(0, 0), (0, 1), (0, 2)]


def test_without_a_seed_the_first_rows_are_used() -> None:
    assert places(5, 3) == [0, 1, 2]


def test_a_source_begins_again_when_it_is_used_up() -> None:
    assert list(drawn(2, 5)) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]


def test_a_seed_draws_the_same_rows_every_day() -> None:
    assert places(10, 4, seed=7) == [1, 3, 6, 8]


@given(total=SMALL, seed=st.integers(0, 2**32), data=st.data())
def test_more_rows_hold_the_fewer_and_are_in_order(
    total: int, seed: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, total))
    fewer = data.draw(st.integers(1, count))

    more = places(total, count, seed)

    assert set(places(total, fewer, seed)) <= set(more)
    assert more == sorted(set(more))


@given(total=SMALL, count=st.integers(1, 200), seed=SEEDS)
def test_as_many_come_as_are_asked_for_and_none_far_more_often(
    total: int, count: int, seed: int | None
) -> None:
    found = places(total, count, seed)

    assert len(found) == count
    counts = [found.count(place) for place in range(total)]
    assert max(counts) - min(counts) <= 1


def test_of_no_rows_none_are_drawn() -> None:
    assert places(0, 5) == []


def test_all_combinations_come_in_their_order() -> None:
    assert combined([2, 3], None) == list(product(range(2), range(3)))


@given(totals=st.lists(st.integers(1, 6), min_size=2, max_size=4), seed=SEEDS, data=st.data())
def test_some_combinations_are_different_and_in_order(
    totals: list[int], seed: int | None, data: st.DataObject
) -> None:
    every = list(product(*map(range, totals)))
    count = data.draw(st.integers(1, len(every)))

    some = combined(totals, count, seed)

    assert len(some) == count
    assert some == sorted(set(some))
    assert set(some) <= set(every)


def test_combinations_of_a_seed_are_the_same_every_day() -> None:
    assert combined([100, 100], 4, seed=3) == combined([100, 100], 4, seed=3)
    assert combined([100, 100], 4, seed=3) != combined([100, 100], 4, seed=4)


def test_a_few_of_very_many_are_drawn_at_once() -> None:
    huge = [10**9, 10**9, 10**9]

    some = combined(huge, 50, seed=1)

    assert len(set(some)) == 50
    assert all(place < 10**9 for each in some for place in each)


@pytest.mark.parametrize(
    ("totals", "count", "said"),
    [
        ([2, 2], 5, "5 combinations are asked for, there are 4"),
        ([MOST, 2], None, "say with `num_samples`"),
    ],
)
def test_too_many_combinations_are_refused(totals: list[int], count: int | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        combined(totals, count)
