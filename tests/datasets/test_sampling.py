from itertools import count as count_from
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.datasets.sampling import (
    MAX_COMBINATIONS,
    choose_places,
    draw_combinations,
    draw_rounds,
    select_items,
)

SMALL = st.integers(1, 30)
SEEDS = st.none() | st.integers(0, 2**32)


@pytest.mark.parametrize("how", ["head", "random"])
@pytest.mark.parametrize("wanted", [None, 10, 11])
def test_all_where_no_fewer_are_asked_for(how: str, wanted: int | None) -> None:
    assert list(choose_places(10, wanted, how)) == list(range(10))  # type: ignore[arg-type]


def test_head_is_the_first() -> None:
    assert list(choose_places(10, 3)) == [0, 1, 2]


def test_random_is_the_same_everywhere_for_ever() -> None:
    assert list(choose_places(20, 5, "random")) == [1, 4, 6, 7, 14]


def test_random_keeps_the_order_and_takes_none_twice() -> None:
    found = list(choose_places(1000, 400, "random"))

    assert found == sorted(set(found))
    assert len(found) == 400


def test_more_samples_hold_the_fewer_that_were_chosen_before() -> None:
    assert set(choose_places(1000, 100, "random")) <= set(choose_places(1000, 200, "random"))


def test_every_row_is_chosen_about_as_often_as_the_others() -> None:
    found = list(choose_places(100_000, 10_000, "random"))

    for start in range(0, 100_000, 10_000):
        assert 850 < sum(start <= place < start + 10_000 for place in found) < 1150


def test_the_items_at_the_places() -> None:
    assert list(select_items("abcdefghij", choose_places(10, 3))) == ["a", "b", "c"]
    assert "".join(select_items("abcdefghijklmnopqrst", choose_places(20, 5, "random"))) == "begho"


@pytest.mark.parametrize("how", ["head", "random"])
def test_nothing_is_read_after_the_last_of_them(how: str) -> None:
    endless = count_from()

    found = list(select_items(endless, choose_places(50, 5, how)))  # type: ignore[arg-type]

    assert next(endless) == found[-1] + 1


def places(total: int, count: int | None, seed: int | None = None) -> list[int]:
    return [place for _, place in draw_rounds(total, count, seed)]


def test_without_a_count_each_row_is_used_once() -> None:
    assert list(draw_rounds(3, None)) == [(0, 0), (0, 1), (0, 2)]


def test_without_a_seed_the_first_rows_are_used() -> None:
    assert places(5, 3) == [0, 1, 2]


def test_a_source_begins_again_when_it_is_used_up() -> None:
    assert list(draw_rounds(2, 5)) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]


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


def test_of_no_rows_none_are_draw_rounds() -> None:
    assert places(0, 5) == []


def test_all_combinations_come_in_their_order() -> None:
    assert draw_combinations([2, 3], None) == list(product(range(2), range(3)))


@given(totals=st.lists(st.integers(1, 6), min_size=2, max_size=4), seed=SEEDS, data=st.data())
def test_some_combinations_are_different_and_in_order(
    totals: list[int], seed: int | None, data: st.DataObject
) -> None:
    every = list(product(*map(range, totals)))
    count = data.draw(st.integers(1, len(every)))

    some = draw_combinations(totals, count, seed)

    assert len(some) == count
    assert some == sorted(set(some))
    assert set(some) <= set(every)


def test_combinations_of_a_seed_are_the_same_every_day() -> None:
    assert draw_combinations([100, 100], 4, seed=3) == draw_combinations([100, 100], 4, seed=3)
    assert draw_combinations([100, 100], 4, seed=3) != draw_combinations([100, 100], 4, seed=4)


def test_a_few_of_very_many_are_drawn_at_once() -> None:
    huge = [10**9, 10**9, 10**9]

    some = draw_combinations(huge, 50, seed=1)

    assert len(set(some)) == 50
    assert all(place < 10**9 for each in some for place in each)


@pytest.mark.parametrize(
    ("totals", "count", "said"),
    [
        ([2, 2], 5, "5 combinations were requested, but only 4 exist"),
        ([MAX_COMBINATIONS, 2], None, "set `num_samples`"),
    ],
)
def test_too_many_combinations_are_refused(totals: list[int], count: int | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        draw_combinations(totals, count)
