from itertools import count

import pytest

from evalwright.datasets.sampling import chosen, sampled


@pytest.mark.parametrize("how", ["head", "random"])
@pytest.mark.parametrize("wanted", [None, 10, 11])
def test_all_where_no_fewer_are_asked_for(how: str, wanted: int | None) -> None:
    assert list(chosen(10, wanted, how)) == list(range(10))  # type: ignore[arg-type]


def test_head_is_the_first() -> None:
    assert list(chosen(10, 3)) == [0, 1, 2]


def test_random_is_the_same_everywhere_for_ever() -> None:
    assert list(chosen(20, 5, "random")) == [1, 4, 6, 7, 14]


def test_random_keeps_the_order_and_takes_none_twice() -> None:
    found = list(chosen(1000, 400, "random"))

    assert found == sorted(set(found))
    assert len(found) == 400


def test_more_samples_hold_the_fewer_that_were_chosen_before() -> None:
    assert set(chosen(1000, 100, "random")) <= set(chosen(1000, 200, "random"))


def test_every_row_is_chosen_about_as_often_as_the_others() -> None:
    found = list(chosen(100_000, 10_000, "random"))

    for start in range(0, 100_000, 10_000):
        assert 850 < sum(start <= place < start + 10_000 for place in found) < 1150


def test_the_items_at_the_places() -> None:
    assert list(sampled("abcdefghij", chosen(10, 3))) == ["a", "b", "c"]
    assert "".join(sampled("abcdefghijklmnopqrst", chosen(20, 5, "random"))) == "begho"


@pytest.mark.parametrize("how", ["head", "random"])
def test_nothing_is_read_after_the_last_of_them(how: str) -> None:
    endless = count()

    found = list(sampled(endless, chosen(50, 5, how)))  # type: ignore[arg-type]

    assert next(endless) == found[-1] + 1
