"""Extremes, mean and quartiles of a stream of numbers, in fixed memory.

The quartiles are those of a random sample of 2,000 numbers. The sample is the same each time: the
random numbers have a fixed seed.

Vitter (1985), Random sampling with a reservoir; Li (1994), algorithm L, which skips numbers.
"""

import math
from bisect import insort
from random import Random
from typing import NamedTuple

SAMPLE = 2_000
FEWEST = 20
FENCE = 5.0
"""An outlier is more than this many interquartile ranges below the first or above the third
quartile."""
_KEPT = 5


class Extreme(NamedTuple):
    """A number and its position."""

    value: float
    position: int


class Spread:
    """Call `add` for each number."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.lowest: list[Extreme] = []
        """The smallest numbers, ascending."""
        self.highest: list[Extreme] = []
        """The largest numbers, ascending."""
        self._sample: list[float] = []
        self._random = Random(0)  # noqa: S311 - must be reproducible, not secret
        self._weight = 1.0
        self._next = SAMPLE
        self._low, self._high = math.inf, -math.inf

    def add(self, value: float, position: int) -> None:
        """Add a finite number."""
        place = self.count
        self.count = place + 1
        self.total += value
        if value < self._low:
            self._insert_low(value, position)
        if value > self._high:
            self._insert_high(value, position)
        if place < SAMPLE:
            self._sample.append(value)
        elif place == self._next:
            self._sample[self._random.randrange(SAMPLE)] = value
        if place >= self._next or place == SAMPLE - 1:
            self._weight *= math.exp(math.log(1.0 - self._random.random()) / SAMPLE)
            skipped = math.log(1.0 - self._random.random()) / math.log1p(-self._weight)
            self._next = place + 1 + int(skipped)

    @property
    def mean(self) -> float | None:
        """The mean; None if there are no numbers, or their sum is too large."""
        mean = self.total / self.count if self.count else math.nan
        return mean if math.isfinite(mean) else None

    def outliers(self) -> list[Extreme]:
        """Return those of the extremes that are far outside the quartiles."""
        if self.count < FEWEST:
            return []
        ordered = sorted(self._sample)
        first, third = ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]
        margin = FENCE * (third - first)
        if not margin or not math.isfinite(margin):
            return []
        low = [extreme for extreme in self.lowest if extreme.value < first - margin]
        return low + [extreme for extreme in self.highest if extreme.value > third + margin]

    def _insert_low(self, value: float, position: int) -> None:
        insort(self.lowest, Extreme(value, position))
        if len(self.lowest) > _KEPT:
            self.lowest.pop()
        if len(self.lowest) == _KEPT:
            self._low = self.lowest[-1].value

    def _insert_high(self, value: float, position: int) -> None:
        insort(self.highest, Extreme(value, position))
        if len(self.highest) > _KEPT:
            self.highest.pop(0)
        if len(self.highest) == _KEPT:
            self._high = self.highest[0].value
