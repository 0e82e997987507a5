"""Measure how often intervals contain the true value, and how often equal models seem different.

    python bench/coverage.py [REPEATS [TABLE ...]]

Prints the tables in docs/concepts/uncertainty.md, or only those that are named: graded, hard,
binary, paired, means, ratios, rates, deviations, python. A repeat is one call of the public
function on a new data set. With the default of 1,500 repeats, the script takes about eight minutes,
and the standard error of a printed share is 0.6 percentage points. The published tables for scores
and pairs use 10,000 repeats, with a standard error of 0.2 percentage points. Binary scores are not
simulated: their coverage is a finite sum, so it is exact.
"""

import math
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalwright.metrics.python import RESAMPLES as PYTHON_RESAMPLES
from evalwright.metrics.python import resampled_interval
from evalwright.metrics.ratios import f1, ratio, share
from evalwright.stats.deviation import deviation_interval
from evalwright.stats.interval import Interval, wilson
from evalwright.stats.mean import any_mean_interval, mean_interval
from evalwright.stats.paired import paired_difference
from evalwright.stats.rates import rate_interval
from evalwright.stats.sums import Statistic, distinct

Floats = NDArray[np.float64]
Generator = np.random.Generator

REPEATS = 1_500
RESAMPLES = 2_000
METRIC_RESAMPLES = 1_000
SIZES = (5, 10, 20, 50, 200)
PAIRED_SIZES = (10, 20, 50, 200)
MEAN_SIZES = (3, *SIZES)
METRIC_SIZES = (20, 50, 200)
PYTHON_SIZES = (10, 20, 50, 200)
RATES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95)


class Shape(NamedTuple):
    """A distribution of scores whose mean is known."""

    name: str
    draw: Callable[[Generator, int], Floats]
    mean: float


class Numbers(NamedTuple):
    """A distribution of numbers in any range whose mean and standard deviation are known."""

    name: str
    draw: Callable[[Generator, int], Floats]
    mean: float
    deviation: float


class Counts(NamedTuple):
    """Samples with counts (TP, FP, FN); the expected counts are known."""

    name: str
    draw: Callable[[Generator, int], Floats]
    hits: float
    wrong: float
    missed: float


class Weighed(NamedTuple):
    """Documents with their nats and tokens; the overall nats per token are known."""

    name: str
    draw: Callable[[Generator, int], tuple[Floats, Floats]]
    rate: float


class Figure(NamedTuple):
    """A metric that is a ratio of sums of these counts."""

    name: str
    columns: tuple[int, ...]
    statistic: Statistic


class Held(NamedTuple):
    """Shares of intervals that contain the true value, are above it, below it, or missing."""

    held: float
    above: float
    below: float
    none: float


class Null(NamedTuple):
    """Two models whose true mean scores are equal."""

    name: str
    draw: Callable[[Generator, int], tuple[Floats, Floats]]


class Coverage(NamedTuple):
    """Shares of intervals that contain the mean or lie above or below it, and their mean width."""

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


def _lognormal(sigma: float) -> Numbers:
    square = sigma**2
    mean = math.exp(1 + square / 2)
    return Numbers(
        f"lognormal, sigma = {sigma:g}",
        lambda rng, n: rng.lognormal(1, sigma, n),
        mean,
        mean * math.sqrt(math.exp(square) - 1),
    )


def _poisson(rate: float) -> Numbers:
    return Numbers(
        f"counts, Poisson({rate:g})",
        lambda rng, n: rng.poisson(rate, n).astype(np.float64),
        rate,
        math.sqrt(rate),
    )


def _listed(name: str, values: list[float], shares: list[float]) -> Numbers:
    worth, chances = np.array(values), np.array(shares)
    mean = float(worth @ chances)
    deviation = math.sqrt(float((worth - mean) ** 2 @ chances))
    return Numbers(name, lambda rng, n: rng.choice(worth, n, p=chances), mean, deviation)


ANY = (
    Numbers("normal", lambda rng, n: rng.normal(5, 2, n), 5, 2),
    _listed("integers 1 to 10, even", [float(grade) for grade in range(1, 11)], [0.1] * 10),
    _listed("grades 1 to 5, mostly good", [1, 2, 3, 4, 5], [0.05, 0.1, 0.15, 0.3, 0.4]),
    _poisson(3),
    _lognormal(0.5),
    Numbers("exponential", lambda rng, n: rng.exponential(10, n), 10, 10),
)

HARD_ANY = (
    _listed(
        "integers 1 to 10, 90 % tens",
        [float(grade) for grade in range(1, 11)],
        [0.1 / 9] * 9 + [0.9],
    ),
    _poisson(0.5),
    _lognormal(1),
)


def _documents(name: str, sigma: float, *, gibberish: float = 0.0) -> Weighed:
    """Draw lengths around 200 tokens with about 3 nats per token; gibberish has 8."""

    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        tokens = 200 * rng.lognormal(0, sigma, n)
        nats = np.where(rng.random(n) < gibberish, 8.0, rng.normal(3, 0.4, n))
        return tokens * nats, tokens

    return Weighed(name, draw, 3 + gibberish * 5)


def _short_surprise(rng: Generator, n: int) -> tuple[Floats, Floats]:
    tokens = 200 * rng.lognormal(0, 1, n)
    return tokens * (2.5 + 3 * tokens**-0.3 * rng.lognormal(0, 0.3, n)), tokens


WEIGHED = (
    _documents("documents of about one length", 0.3),
    _documents("lengths lognormal, sigma = 1", 1),
    Weighed(  # E[L^0.7] / E[L] of a lognormal
        "the same, and short documents surprise more",
        _short_surprise,
        2.5 + 3 * math.exp(0.3**2 / 2) * 200**-0.3 * math.exp((0.7**2 - 1) / 2),
    ),
)
HARD_WEIGHED = (
    _documents("lengths lognormal, sigma = 1.5", 1.5),
    _documents("sigma = 1, and 1 document in 20 is gibberish", 1, gibberish=0.05),
)


def _found(name: str, things: float, wrong: float) -> Counts:
    """Draw a number of things per sample; the share that is found differs between samples."""

    def draw(rng: Generator, n: int) -> Floats:
        there = rng.poisson(things, n)
        hits = rng.binomial(there, rng.beta(4, 1, n))
        rows: Floats = np.column_stack([hits, rng.poisson(wrong, n), there - hits]).astype(float)
        return rows

    return Counts(name, draw, 0.8 * things, wrong, 0.2 * things)


def _labelled(positive: float, found: float, false_alarm: float) -> Counts:
    """Draw one label per sample."""

    def draw(rng: Generator, n: int) -> Floats:
        true = rng.random(n) < positive
        said = rng.random(n) < np.where(true, found, false_alarm)
        rows: Floats = np.column_stack([true & said, ~true & said, true & ~said]).astype(float)
        return rows

    name = f"labels, {100 * positive:g} % positive, {100 * found:g} % of them found"
    wrong = (1 - positive) * false_alarm
    return Counts(name, draw, positive * found, wrong, positive * (1 - found))


COUNTED = (
    _found("4 things per sample", 4, 1),
    _found("1 thing per sample", 1, 0.3),
    _labelled(0.5, 0.8, 0.2),
)

RARE = (
    _found("1 thing in 10 samples", 0.1, 0.05),
    _labelled(0.1, 0.8, 0.02),
    _labelled(0.05, 0.6, 0.05),
    _labelled(0.5, 0.98, 0.02),
)

FIGURES = (
    Figure("recall", (0, 2), share),
    Figure("precision", (0, 1), share),
    Figure("F1", (0, 1, 2), f1),
)


def _coins(rng: Generator, n: int) -> Floats:
    return rng.integers(0, 2, n).astype(np.float64)


def _binary(share: float) -> Null:
    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        a = _coins(rng, n)
        return a, np.where(rng.random(n) < share, 1 - a, a)

    return Null(f"binary, {100 * (1 - share):.0f} % of samples tied", draw)


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
    Null("graded, 70 % of samples tied", _ties),
    Null("graded, alike but for noise", _alike),
    Null("graded, independent Beta(2, 2)", lambda rng, n: (rng.beta(2, 2, n), rng.beta(2, 2, n))),
    Null("binary against Beta(2, 2)", lambda rng, n: (_coins(rng, n), rng.beta(2, 2, n))),
    Null("a bit better on 80 %, much worse on 20 %", _lopsided),
    Null("a bit better on 90 %, fails on 10 %", _fragile),
)

HARD_NULLS = (Null("skewed: Beta(1, 9) against its mean", _skewed),)


def coverage(shape: Shape, n: int, *, repeats: int, resamples: int = RESAMPLES) -> Coverage:
    """Simulate `mean_interval` on n scores from this distribution."""
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


def any_mean_coverage(
    numbers: Numbers, n: int, *, repeats: int, resamples: int = METRIC_RESAMPLES
) -> Held:
    """Simulate `any_mean_interval` on n numbers from this distribution."""
    rng = _generator(numbers.name, n)
    return _tallied(
        (
            any_mean_interval(numbers.draw(rng, n), resamples=resamples, seed=seed)
            for seed in range(repeats)
        ),
        numbers.mean,
    )


def deviation_coverage(
    numbers: Numbers, n: int, *, repeats: int, resamples: int = METRIC_RESAMPLES
) -> Held:
    """Simulate `deviation_interval` on n numbers from this distribution."""
    rng = _generator(numbers.name, n)
    return _tallied(
        (
            deviation_interval(numbers.draw(rng, n), resamples=resamples, seed=seed)
            for seed in range(repeats)
        ),
        numbers.deviation,
    )


def ratio_coverage(
    counts: Counts, figure: Figure, n: int, *, repeats: int, resamples: int = METRIC_RESAMPLES
) -> Held:
    """Simulate this ratio on n samples with such counts."""
    rng = _generator(counts.name, n)
    columns = list(figure.columns)

    def interval(seed: int) -> Interval | None:
        rows, times = distinct(counts.draw(rng, n)[:, columns])
        found = ratio(figure.name, rows, times, figure.statistic, resamples=resamples, seed=seed)
        return found.interval

    expected = np.array([[counts.hits, counts.wrong, counts.missed]])[:, columns]
    truth = float(figure.statistic(expected)[0])
    return _tallied(map(interval, range(repeats)), truth)


def rate_coverage(
    weighed: Weighed, n: int, *, repeats: int, resamples: int = METRIC_RESAMPLES
) -> Held:
    """Simulate `rate_interval` on n documents like these."""
    rng = _generator(weighed.name, n)
    return _tallied(
        (
            rate_interval(*weighed.draw(rng, n), resamples=resamples, seed=seed)
            for seed in range(repeats)
        ),
        weighed.rate,
    )


class Computed(NamedTuple):
    """A metric that a Python function computes for each row of numbers, with its true value."""

    name: str
    draw: Callable[[Generator, int], Floats]
    compute: Callable[[Floats], Floats]
    truth: float


def _computed(numbers: Numbers, median: float) -> tuple[Computed, ...]:
    def deviation(rows: Floats) -> Floats:
        return np.asarray(rows.std(axis=1, ddof=1))

    name, draw = numbers.name, numbers.draw
    return (
        Computed(f"mean, {name}", draw, lambda rows: np.asarray(rows.mean(axis=1)), numbers.mean),
        Computed(f"median, {name}", draw, lambda rows: np.median(rows, axis=1), median),
        Computed(f"standard deviation, {name}", draw, deviation, numbers.deviation),
    )


COMPUTED = _computed(ANY[0], 5) + _computed(ANY[-1], 10 * math.log(2))


def python_coverage(figure: Computed, n: int, *, repeats: int) -> Held:
    """Simulate the interval for a `python` metric that computes this value."""
    rng = _generator(figure.name, n)

    def interval() -> Interval | None:
        values, places = figure.draw(rng, n), rng.integers(0, n, (PYTHON_RESAMPLES, n))
        return resampled_interval(list(figure.compute(values[places])), n)

    return _tallied((interval() for _ in range(repeats)), figure.truth)


def _tallied(intervals: Iterable[Interval | None], truth: float) -> Held:
    above = below = none = made = 0
    for interval in intervals:
        if interval is None:
            none += 1
            continue
        made += 1
        above += interval.low > truth
        below += interval.high < truth
    return Held(1 - (above + below) / made, above / made, below / made, none / (made + none))


def false_alarms(null: Null, n: int, *, repeats: int, resamples: int = RESAMPLES) -> float:
    """Simulate how often two equal models are called significantly different."""
    rng = _generator(null.name, n)
    found = 0
    for seed in range(repeats):
        a, b = null.draw(rng, n)
        found += paired_difference(a, b, resamples=resamples, seed=seed).significant
    return found / repeats


def _generator(name: str, n: int) -> Generator:
    """Return a generator with its own fixed seed for a cell of a table."""
    return np.random.default_rng([n, zlib.crc32(name.encode())])


def binary_coverage(n: int, rates: Floats) -> Floats:
    """Return the exact coverage of the interval for n binary scores, for each true rate.

    Σ over c of C(n, c) r^c (1-r)^(n-c) · [the interval of c right answers contains r]
    """
    total = np.zeros_like(rates)
    for c in range(n + 1):
        interval = wilson(c, n)
        chance = math.comb(n, c) * rates**c * (1 - rates) ** (n - c)
        total += chance * ((interval.low <= rates) & (rates <= interval.high))
    return total


def averaged_binary_coverage(n: int, a: float, b: float) -> float:
    """Return the coverage averaged over true rates with the distribution Beta(a, b)."""
    rates = (np.arange(4000) + 0.5) / 4000
    weights = rates ** (a - 1) * (1 - rates) ** (b - 1)
    return float(binary_coverage(n, rates) @ weights / weights.sum())


PRIORS = ((1, 1), (2, 2), (5, 2), (8, 2), (2, 8))


def main(repeats: int, chosen: list[str]) -> None:
    tables = _tables(repeats)
    for name in chosen or tables:
        for line in tables[name]:
            print(line, flush=True)
        print()


def _tables(repeats: int) -> dict[str, Iterator[str]]:
    """Return the tables; each is simulated when it is read."""
    return {
        "graded": _graded("graded scores, coverage in %", GRADED, repeats),
        "hard": _graded("hard cases, coverage in %", HARD, repeats),
        "binary": binary_tables(),
        "paired": _paired("equal models reported as different, in %", NULLS + HARD_NULLS, repeats),
        "means": _means("mean of numbers, coverage in %", ANY + HARD_ANY, repeats),
        "ratios": _ratios("ratio of sums, coverage in %", COUNTED + RARE, repeats),
        "rates": _rates("nats per token, coverage in %", WEIGHED + HARD_WEIGHED, repeats),
        "deviations": _deviations("standard deviation, coverage in %", ANY + HARD_ANY, repeats),
        "python": _python("`python` metric, coverage in %", COMPUTED, repeats),
    }


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
    yield from _head("binary scores, by distribution of the true rates, coverage in %", SIZES)
    for a, b in PRIORS:
        found = [averaged_binary_coverage(n, a, b) for n in SIZES]
        yield _row(f"Beta({a}, {b})", *(f"{100 * held:.1f}" for held in found))


def _binary_fixed() -> Iterator[str]:
    yield from _head("binary scores with one true rate, coverage in %", SIZES)
    rates = np.array(RATES)
    found = np.array([binary_coverage(n, rates) for n in SIZES]).T
    for rate, row in zip(RATES, found, strict=True):
        yield _row(rate, *(f"{100 * held:.1f}" for held in row))


def _paired(name: str, nulls: tuple[Null, ...], repeats: int) -> Iterator[str]:
    yield from _head(name, PAIRED_SIZES)
    for null in nulls:
        found = [false_alarms(null, n, repeats=repeats) for n in PAIRED_SIZES]
        yield _row(null.name, *(f"{100 * share:.1f}" for share in found))


def _means(name: str, shapes: tuple[Numbers, ...], repeats: int) -> Iterator[str]:
    yield from _head(name, MEAN_SIZES)
    for numbers in shapes:
        found = [any_mean_coverage(numbers, n, repeats=repeats) for n in MEAN_SIZES]
        yield _row(numbers.name, *map(_cell, found))


def _ratios(name: str, cases: tuple[Counts, ...], repeats: int) -> Iterator[str]:
    yield from _head(name, METRIC_SIZES)
    for counts in cases:
        for figure in FIGURES:
            found = [ratio_coverage(counts, figure, n, repeats=repeats) for n in METRIC_SIZES]
            yield _row(f"{figure.name}: {counts.name}", *map(_cell, found))


def _rates(name: str, cases: tuple[Weighed, ...], repeats: int) -> Iterator[str]:
    yield from _head(name, MEAN_SIZES)
    for weighed in cases:
        found = [rate_coverage(weighed, n, repeats=repeats) for n in MEAN_SIZES]
        yield _row(weighed.name, *map(_cell, found))


def _deviations(name: str, shapes: tuple[Numbers, ...], repeats: int) -> Iterator[str]:
    yield from _head(name, METRIC_SIZES)
    for numbers in shapes:
        found = [deviation_coverage(numbers, n, repeats=repeats) for n in METRIC_SIZES]
        yield _row(numbers.name, *map(_cell, found))


def _python(name: str, figures: tuple[Computed, ...], repeats: int) -> Iterator[str]:
    yield from _head(name, PYTHON_SIZES)
    for figure in figures:
        found = [python_coverage(figure, n, repeats=repeats) for n in PYTHON_SIZES]
        yield _row(figure.name, *map(_cell, found))


def _cell(found: Held) -> str:
    """Format the coverage, with the share of missing intervals in parentheses unless it is tiny."""
    none = round(100 * found.none)
    return f"{100 * found.held:.1f}" + (f" ({none})" if none else "")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS, sys.argv[2:])
