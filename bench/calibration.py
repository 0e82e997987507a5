"""Measure how often the intervals for ECE and the Brier score contain the true value.

    python bench/calibration.py [REPEATS]

Prints the table for these metrics in docs/concepts/uncertainty.md. A repeat is one call of the
public function on new answers. With the default of 1,000 repeats, the script takes about five
minutes, and the standard error of a printed share is 0.7 percentage points. The true values are
computed from two million answers; a calibrated model has an ECE of 0.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalwright.stats.calibration import brier_interval, ece_interval, measure_calibration
from evalwright.stats.interval import Interval

Floats = NDArray[np.float64]
Generator = np.random.Generator

REPEATS = 1_000
SIZES = (10, 20, 50, 200, 1000)
_MANY = 2_000_000
_NEARLY = 1e-4
"""What two million answers of a calibrated model still have for an ECE."""


class Answers(NamedTuple):
    """A model: its confidence, and how often it is right at that confidence."""

    name: str
    sure: Callable[[Generator, int], Floats]
    right: Callable[[Floats], Floats]

    def draw(self, rng: Generator, n: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw this number of answers."""
        p = self.sure(rng, n)
        return p, rng.random(n) < self.right(p)


def _spread(rng: Generator, n: int) -> Floats:
    return rng.beta(5, 2, n)


def _five(rng: Generator, n: int) -> Floats:
    return rng.choice([0.55, 0.65, 0.75, 0.85, 0.95], n)


def _certain(rng: Generator, n: int) -> Floats:
    return 1 - 0.05 * rng.random(n)


MODELS = (
    Answers("calibrated, sure as Beta(5, 2)", _spread, lambda p: p),
    Answers("calibrated, 5 values", _five, lambda p: p),
    Answers("calibrated, above 95 %", _certain, lambda p: p),
    Answers("5 points too sure", _spread, lambda p: np.maximum(p - 0.05, 0)),
    Answers("right 0.7 times as often", _spread, lambda p: 0.7 * p),
    Answers("above 95 %, right 0.7 times as often", _certain, lambda p: 0.7 * p),
    Answers("20 points too sure above 70 %", _five, lambda p: np.where(p > 0.7, p - 0.2, p)),
)


class Figure(NamedTuple):
    """A metric (ECE or Brier score) and its interval."""

    name: str
    value: Callable[..., float]
    interval: Callable[..., Interval | None]


FIGURES = (
    Figure("ECE", lambda p, y: measure_calibration(p, y).ece, ece_interval),
    Figure("Brier", lambda p, y: measure_calibration(p, y).brier, brier_interval),
)


def coverage(model: Answers, figure: Figure, n: int, *, repeats: int) -> float:
    """Return the share of intervals that contain the true value."""
    rng = np.random.Generator(np.random.PCG64(zlib.crc32(f"{model.name} {n}".encode())))
    truth = figure.value(*model.draw(np.random.Generator(np.random.PCG64(0)), _MANY))
    held = 0
    for seed in range(repeats):
        found = figure.interval(*model.draw(rng, n), seed=seed)
        held += found is not None and found.low - _NEARLY <= truth <= found.high + _NEARLY
    return held / repeats


def table(repeats: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield _row("calibration, coverage in %", *(f"n = {n}" for n in SIZES))
    yield _row("---", *("---" for _ in SIZES))
    for figure in FIGURES:
        for model in MODELS:
            found = (coverage(model, figure, n, repeats=repeats) for n in SIZES)
            yield _row(f"{figure.name}: {model.name}", *(f"{100 * one:.1f}" for one in found))


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


if __name__ == "__main__":
    for line in table(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS):
        print(line, flush=True)
