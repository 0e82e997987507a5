"""Some of the rows: the first, or some that anybody can choose again.

    head      the first `num_samples`
    random    those with the smallest of a fixed series of random numbers, in their own order

The series is Python's `random.Random(SEED).random()`, a number a row, whose values Python promises
to keep from version to version. So 200 samples of a dataset hold the 100 that were chosen before:
what was paid for is used again.
"""

import heapq
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Literal, TypeVar

Subsampling = Literal["head", "random"]
SEED = 20260512

T = TypeVar("T")


def chosen(total: int, num_samples: int | None, how: Subsampling = "head") -> Sequence[int]:
    """The places of the rows that are used, of `total`, in their order."""
    if num_samples is None or num_samples >= total:
        return range(total)
    if how == "head":
        return range(num_samples)
    series = Random(SEED)  # noqa: S311 - to be chosen again, not to be secret
    numbers = ((series.random(), place) for place in range(total))
    return array("Q", sorted(place for _, place in heapq.nsmallest(num_samples, numbers)))


def sampled(items: Iterable[T], places: Sequence[int]) -> Iterator[T]:
    """The items at these places, which are in order; nothing after the last of them is read."""
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
