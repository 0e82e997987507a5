"""Which rows of a source are used, so that anybody can choose the same again.

    drawn(5, 3)             0 1 2          from the first
    drawn(5, 12)            0 1 2 3 4 0 1 2 3 4 0 1
    drawn(5, 3, seed=7)     some three, in their own order

With a seed, a round of rows is those with the smallest of `random.Random(seed).random()`, a number
a row, whose series Python promises to keep: 200 of them hold the 100 of before. Rounds that take
all rows take them in their order. Combinations are drawn by their numbers, from the same series.
"""

import heapq
from collections.abc import Iterator, Sequence
from random import Random

MOST = 1_000_000
"""Combinations that nobody means to have without saying how many."""


def drawn(total: int, count: int | None, seed: int | None = None) -> Iterator[tuple[int, int]]:
    """The number of the round and the place of each row that is used, in order."""
    left = total if count is None else count
    turn = 0
    while left > 0 and total > 0:
        places = _round(total, min(left, total), seed)
        for place in places:
            yield turn, place
        left -= total
        turn += 1


def _round(total: int, count: int, seed: int | None) -> Sequence[int]:
    if seed is None or count == total:
        return range(count)
    series = Random(seed)  # noqa: S311 - to be chosen again, not to be secret
    numbers = ((series.random(), place) for place in range(total))
    return sorted(place for _, place in heapq.nsmallest(count, numbers))


def combined(
    totals: Sequence[int], count: int | None, seed: int | None = None
) -> list[tuple[int, ...]]:
    """The places of each combination that is used, one a dataset; the last changes first.

    ValueError if more are asked for than there are.
    """
    whole = 1
    for total in totals:
        whole *= total
    wanted = whole if count is None else count
    if wanted > whole:
        raise ValueError(f"{count:,} combinations are asked for, there are {whole:,}")
    if wanted > MOST:
        raise ValueError(f"{wanted:,} combinations: say with `num_samples` how many are wanted")
    numbers: Sequence[int] = range(wanted)
    if seed is not None and wanted < whole:
        numbers = _numbers(whole, wanted, seed)
    return [_places(number, totals) for number in numbers]


def _numbers(whole: int, wanted: int, seed: int) -> list[int]:
    """Some of `range(whole)`, each once: the first steps of a shuffle that is never finished."""
    series = Random(seed)  # noqa: S311 - to be chosen again, not to be secret
    moved: dict[int, int] = {}
    chosen = []
    for step in range(wanted):
        left = whole - step
        other = step + min(int(series.random() * left), left - 1)  # of huge numbers, rounded up
        chosen.append(moved.get(other, other))
        moved[other] = moved.get(step, step)
    return sorted(chosen)


def _places(number: int, totals: Sequence[int]) -> tuple[int, ...]:
    places = []
    for total in reversed(totals):
        number, place = divmod(number, total)
        places.append(place)
    return tuple(reversed(places))
