"""Select rows reproducibly: the first rows, or a random subset with a fixed seed.

    head      the first `num_samples` rows
    random    the rows with the smallest numbers in a fixed random series, in dataset order

The series is Python's `random.Random(seed).random()`, one number per row. Python guarantees the
same values in all versions. A selection of 200 samples therefore contains the selection of 100,
whose results are reused.

If a generator needs more rows than its data source has, it draws them in rounds:

    draw_rounds(5, 3)             0 1 2                        the first rows
    draw_rounds(5, 12)            0 1 2 3 4 0 1 2 3 4 0 1      three rounds
    draw_rounds(5, 3, seed=7)     three of the rows, in dataset order
"""

import heapq
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import prod
from random import Random
from typing import Literal, TypeVar

Subsampling = Literal["head", "random"]
SEED = 20260512
MAX_COMBINATIONS = 1_000_000
"""If there are more combinations than this, the author must set a number."""

T = TypeVar("T")


def choose_places(total: int, num_samples: int | None, how: Subsampling = "head") -> Sequence[int]:
    """Return the positions of the selected rows out of `total`, in order."""
    count = total if num_samples is None else num_samples
    return _draw_places(total, count, None if how == "head" else SEED)


def select_items(items: Iterable[T], places: Sequence[int]) -> Iterator[T]:
    """Yield the items at these positions, in order; stop reading after the last."""
    if isinstance(places, range):
        yield from islice(items, len(places))
        return
    wanted = iter(places)
    place = next(wanted, None)
    for number, item in enumerate(items):
        if number == place:
            yield item
            place = next(wanted, None)
            if place is None:
                return


def draw_rounds(
    total: int, count: int | None, seed: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the round and the position of each selected row, in order."""
    remaining = total if count is None else count
    round_number = 0
    while remaining > 0 and total > 0:
        for place in _draw_places(total, remaining, seed):
            yield round_number, place
        remaining -= total
        round_number += 1


def shuffle_places(total: int, seed: int) -> Sequence[int]:
    """Return all positions, sorted by their random numbers."""
    series = Random(seed)  # noqa: S311 - must be reproducible, not secret
    numbers = [series.random() for _ in range(total)]
    return array("Q", sorted(range(total), key=numbers.__getitem__))


def draw_combinations(
    totals: Sequence[int], count: int | None, seed: int | None = None
) -> list[tuple[int, ...]]:
    """Return the row positions of each selected combination; the last dataset varies fastest.

    ValueError if more are requested than exist.
    """
    available = prod(totals)
    wanted = available if count is None else count
    if wanted > available:
        raise ValueError(f"{count:,} combinations were requested, but only {available:,} exist")
    if wanted > MAX_COMBINATIONS:
        raise ValueError(f"{wanted:,} combinations: set `num_samples` to the number you want")
    numbers: Sequence[int] = range(wanted)
    if seed is not None and wanted < available:
        numbers = _draw_numbers(available, wanted, seed)
    return [_split_number(number, totals) for number in numbers]


def _draw_places(total: int, count: int, seed: int | None) -> Sequence[int]:
    if seed is None or count >= total:
        return range(min(count, total))
    series = Random(seed)  # noqa: S311 - must be reproducible, not secret
    numbers = ((series.random(), place) for place in range(total))
    return array("Q", sorted(place for _, place in heapq.nsmallest(count, numbers)))


def _draw_numbers(total: int, count: int, seed: int) -> list[int]:
    """Draw from `range(total)` without replacement: the first steps of a Fisher-Yates shuffle."""
    series = Random(seed)  # noqa: S311 - must be reproducible, not secret
    swapped: dict[int, int] = {}
    drawn = []
    for step in range(count):
        remaining = total - step
        other = step + min(int(series.random() * remaining), remaining - 1)  # floats round up
        drawn.append(swapped.get(other, other))
        swapped[other] = swapped.get(step, step)
    return sorted(drawn)


def _split_number(number: int, totals: Sequence[int]) -> tuple[int, ...]:
    places = []
    for total in reversed(totals):
        number, place = divmod(number, total)
        places.append(place)
    return tuple(reversed(places))
