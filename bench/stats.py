"""Measure the CPU seconds per interval. Exits with code 1 if a threshold is missed.

python bench/stats.py
"""

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evalwright.stats.bootstrap import bootstrap_mean_ci
from evalwright.stats.mean import mean_interval
from evalwright.stats.paired import paired_difference

N = 10_000
ROUNDS = 3


class Case(NamedTuple):
    """A call and its threshold in CPU seconds (None: measured without a threshold)."""

    name: str
    call: Callable[[], object]
    limit: float | None


def main() -> int:
    print(f"{N:,} scores, 10,000 resamples, best of {ROUNDS}\n")
    print("| interval | CPU seconds | threshold | |\n| --- | --- | --- | --- |")
    broken = 0
    for case in _cases():
        seconds = min(_cpu_seconds(case.call) for _ in range(ROUNDS))
        kept = case.limit is None or seconds < case.limit
        broken += not kept
        promise = "" if case.limit is None else f"< {case.limit:g}"
        print(f"| {case.name} | {seconds:.4f} | {promise} | {'' if kept else 'MISSED'} |")
    return 1 if broken else 0


def _cases() -> list[Case]:
    rng = np.random.default_rng(0)
    continuous = rng.beta(2, 2, N).tolist()
    other = rng.beta(2, 2, N).tolist()
    steps = (rng.integers(0, 21, N) / 20).tolist()
    binary = rng.integers(0, 2, N).astype(float).tolist()
    million = rng.beta(2, 2, 1_000_000)
    return [
        Case("mean, continuous", lambda: mean_interval(continuous), 2.0),
        Case("mean, 21 distinct values", lambda: mean_interval(steps), 0.1),
        Case("mean, binary", lambda: mean_interval(binary), 0.01),
        Case("bootstrap_mean_ci, continuous", lambda: bootstrap_mean_ci(continuous), 2.0),
        Case("bootstrap_mean_ci, 21 distinct values", lambda: bootstrap_mean_ci(steps), 0.1),
        Case("paired difference, continuous", lambda: paired_difference(continuous, other), 2.0),
        Case("mean, a million continuous", lambda: mean_interval(million), 2.0),
    ]


def _cpu_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
