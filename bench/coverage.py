"""How often the intervals hold the truth, and how often equal models are called different.

python bench/coverage.py [REPEATS]

Prints the tables of docs/concepts/uncertainty.md: about a quarter of an hour with the default of
10,000 repeats, of which each is one call of the shipped function on a fresh data set. The
standard error of a printed share is 0.2 points. Binary scores are not simulated: their
coverage is a finite sum, and exact.
"""

import math
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalwright.stats.mean import mean_interval
from evalwright.stats.paired import paired_difference
from evalwright.stats.wilson import wilson

Floats = NDArray[np.float64]
Generator = np.random.Generator

REPEATS = 10_000
RESAMPLES = 2_000
SIZES = (5, 10, 20, 50, 200)
PAIRED_SIZES = (10, 20, 50, 200)
RATES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95)


class Shape(NamedTuple):
    """A distribution of scores whose mean is known."""

    name: str
    draw: Callable[[Generator, int], Floats]
    mean: float


class Null(NamedTuple):
    """Two models whose true mean scores are equal."""

    name: str
    draw: Callable[[Generator, int], tuple[Floats, Floats]]


class Coverage(NamedTuple):
    """Shares of intervals that hold the mean, lie above it, lie below it; and their mean width."""

    held: float
    above: float
    below: float
    width: float


def _beta(a: float, b: float) -> Shape:
    return Shape(f"Beta({a:g}, {b:g})", lambda rng, n: rng.beta(a, b, n), a / (a + b))


def _mixture(name: str, zeros: float, ones: float) -> Shape:
    def draw(rng: Generator, n: int) -> Floats:
        place, scores = rng.random(n), rng.beta(2, 2, n)
        scores[place < zeros] = 0
        scores[place >= 1 - ones] = 1
        return scores

    return Shape(name, draw, ones + (1 - zeros - ones) / 2)


def _halves(rng: Generator, n: int) -> Floats:
    return rng.choice(np.array([1.0, 0.5, 0.0]), n, p=[0.9, 0.05, 0.05])


GRADED = (
    _beta(2, 2),
    _beta(5, 2),
    _beta(0.5, 0.5),
    Shape("uniform", lambda rng, n: rng.random(n), 0.5),
    _mixture("25 % zeros, 25 % ones, rest Beta(2, 2)", 0.25, 0.25),
    _mixture("50 % zeros, 10 % ones, rest Beta(2, 2)", 0.5, 0.1),
    Shape("21 levels, even", lambda rng, n: rng.integers(0, 21, n) / 20, 0.5),
    Shape("21 levels, around 0.7", lambda rng, n: rng.binomial(20, 0.7, n) / 20, 0.7),
    _beta(8, 1),
)

HARD = (
    _mixture("80 % ones, rest Beta(2, 2)", 0, 0.8),
    _mixture("90 % ones, rest Beta(2, 2)", 0, 0.9),
    _mixture("95 % ones, rest Beta(2, 2)", 0, 0.95),
    Shape("90 % ones, 5 % halves, 5 % zeros", _halves, 0.925),
    _beta(0.1, 2),
)


def _coins(rng: Generator, n: int) -> Floats:
    return rng.integers(0, 2, n).astype(np.float64)


def _binary(share: float) -> Null:
    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        a = _coins(rng, n)
        return a, np.where(rng.random(n) < share, 1 - a, a)

    return Null(f"binary, {100 * (1 - share):.0f} % of tasks tied", draw)


def _ties(rng: Generator, n: int) -> tuple[Floats, Floats]:
    a, b = rng.random(n), rng.random(n)
    return a, np.where(rng.random(n) < 0.7, a, b)


def _alike(rng: Generator, n: int) -> tuple[Floats, Floats]:
    hardness = rng.beta(2, 2, n)
    a, b = (np.clip(hardness + rng.normal(0, 0.1, n), 0, 1) for _ in range(2))
    return a, b


def _lopsided(rng: Generator, n: int) -> tuple[Floats, Floats]:
    return rng.choice(np.array([0.6, 0.1]), n, p=[0.8, 0.2]), np.full(n, 0.5)


def _fragile(rng: Generator, n: int) -> tuple[Floats, Floats]:
    return rng.choice(np.array([1.0, 0.0]), n, p=[0.9, 0.1]), np.full(n, 0.9)


def _skewed(rng: Generator, n: int) -> tuple[Floats, Floats]:
    return rng.beta(1, 9, n), np.full(n, 0.1)


NULLS = (
    _binary(0.1),
    _binary(0.2),
    _binary(0.5),
    Null("graded, 70 % of tasks tied", _ties),
    Null("graded, alike but for noise", _alike),
    Null("graded, independent Beta(2, 2)", lambda rng, n: (rng.beta(2, 2, n), rng.beta(2, 2, n))),
    Null("binary against Beta(2, 2)", lambda rng, n: (_coins(rng, n), rng.beta(2, 2, n))),
    Null("a bit better on 80 %, much worse on 20 %", _lopsided),
    Null("a bit better on 90 %, fails on 10 %", _fragile),
)

HARD_NULLS = (Null("skewed: Beta(1, 9) against its mean", _skewed),)


def coverage(shape: Shape, n: int, *, repeats: int, resamples: int = RESAMPLES) -> Coverage:
    """Simulate `mean_interval` on data sets of n scores of this shape."""
    rng = _generator(shape.name, n)
    above = below = 0
    width = 0.0
    for seed in range(repeats):
        interval = mean_interval(shape.draw(rng, n), resamples=resamples, seed=seed)
        assert interval is not None  # noqa: S101 - n is above 0
        above += interval.low > shape.mean
        below += interval.high < shape.mean
        width += interval.high - interval.low
    held = 1 - (above + below) / repeats
    return Coverage(held, above / repeats, below / repeats, width / repeats)


def false_alarms(null: Null, n: int, *, repeats: int, resamples: int = RESAMPLES) -> float:
    """Simulate how often two equal models are called significantly different."""
    rng = _generator(null.name, n)
    found = 0
    for seed in range(repeats):
        a, b = null.draw(rng, n)
        found += paired_difference(a, b, resamples=resamples, seed=seed).significant
    return found / repeats


def _generator(name: str, n: int) -> Generator:
    """Every cell of a table has luck of its own, and the same in every run."""
    return np.random.default_rng([n, zlib.crc32(name.encode())])


def binary_coverage(n: int, rates: Floats) -> Floats:
    """Return the exact coverage of the interval of n binary scores, for each true rate.

    Σ over c of C(n, c) r^c (1-r)^(n-c) · [the interval of c right answers holds r]
    """
    total = np.zeros_like(rates)
    for c in range(n + 1):
        interval = wilson(c, n)
        chance = math.comb(n, c) * rates**c * (1 - rates) ** (n - c)
        total += chance * ((interval.low <= rates) & (rates <= interval.high))
    return total


def averaged_binary_coverage(n: int, a: float, b: float) -> float:
    """Return the coverage averaged over true rates that are spread as Beta(a, b)."""
    rates = (np.arange(4000) + 0.5) / 4000
    weights = rates ** (a - 1) * (1 - rates) ** (b - 1)
    return float(binary_coverage(n, rates) @ weights / weights.sum())


PRIORS = ((1, 1), (2, 2), (5, 2), (8, 2), (2, 8))


def main(repeats: int) -> None:
    for table in _tables(repeats):
        for line in table:
            print(line, flush=True)
        print()


def _tables(repeats: int) -> Iterator[Iterator[str]]:
    yield _graded("graded scores, coverage in %", GRADED, repeats)
    yield _graded("hard cases, coverage in %", HARD, repeats)
    yield binary_tables()
    yield _paired("equal models called different, in %", NULLS + HARD_NULLS, repeats)


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _head(name: str, sizes: tuple[int, ...]) -> Iterator[str]:
    yield _row(name, *(f"n = {n}" for n in sizes))
    yield _row("---", *("---" for _ in sizes))


def _graded(name: str, shapes: tuple[Shape, ...], repeats: int) -> Iterator[str]:
    yield from _head(name, SIZES)
    for shape in shapes:
        found = [coverage(shape, n, repeats=repeats).held for n in SIZES]
        yield _row(shape.name, *(f"{100 * held:.1f}" for held in found))


def binary_tables() -> Iterator[str]:
    """Yield the two tables that need no simulation."""
    yield from _binary_averaged()
    yield ""
    yield from _binary_fixed()


def _binary_averaged() -> Iterator[str]:
    yield from _head("binary scores with true rates spread as, coverage in %", SIZES)
    for a, b in PRIORS:
        found = [averaged_binary_coverage(n, a, b) for n in SIZES]
        yield _row(f"Beta({a}, {b})", *(f"{100 * held:.1f}" for held in found))


def _binary_fixed() -> Iterator[str]:
    yield from _head("binary scores of one true rate, coverage in %", SIZES)
    rates = np.array(RATES)
    found = np.array([binary_coverage(n, rates) for n in SIZES]).T
    for rate, row in zip(RATES, found, strict=True):
        yield _row(rate, *(f"{100 * held:.1f}" for held in row))


def _paired(name: str, nulls: tuple[Null, ...], repeats: int) -> Iterator[str]:
    yield from _head(name, PAIRED_SIZES)
    for null in nulls:
        found = [false_alarms(null, n, repeats=repeats) for n in PAIRED_SIZES]
        yield _row(null.name, *(f"{100 * share:.1f}" for share in found))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)
