"""`python`: metrics computed by a Python function.

    metrics:
      - type: python
        compute_metrics_snippet: |
          def compute_metrics(scores):
              return {"longest": max(score.values["length"] for score in scores)}

To compute confidence intervals, the function is called again on resampled scores. This requires
between 10 and 1,000 samples, and the first call must take at most two seconds.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from evalwright.components import Snippet
from evalwright.metrics.base import NOTHING, MetricSpec
from evalwright.metrics.scores import Measure, Scores
from evalwright.ports import Snippets
from evalwright.stats.arrays import np
from evalwright.stats.interval import Interval
from evalwright.stats.quantiles import ordered_quantile, student_confidence, tail

RESAMPLES = 200
_FEWEST_SAMPLES = 10
"""With fewer samples, intervals are too narrow: their coverage is 50 % for two, 85 % for four."""
_NEVER_SHORT = 20
"""A call that takes this many times the limit is not timed again."""


class PythonMetric(MetricSpec):
    """The numbers that `compute_metrics(scores)` returns, by name."""

    type: Literal["python"]
    compute_metrics_snippet: Snippet
    """Python code that defines `compute_metrics(scores)`, with `def` or `async def`. The function
    takes a list of scores, each with `values` and `metadata`, and returns a dict of numbers."""

    def fields(self) -> None:
        """Return None, because the fields that the code reads are unknown."""

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Compute a value for each returned name."""
        if snippets is None:
            raise ValueError("a metric of type `python` needs snippets, but they are turned off")
        records = [
            {"values": dict(score.values), "metadata": dict(score.metadata), "direct_ios": []}
            for score in scores.records()
        ]
        return await measure_resampled(
            records, partial(self._compute, snippets), Resampling(), seed=seed
        )

    async def _compute(
        self, snippets: Snippets, records: Sequence[dict[str, Any]]
    ) -> dict[str, float | None]:
        snippet = self.compute_metrics_snippet
        function = snippet.function("compute_metrics")
        returned = await snippets.call(function, [records], objects=("SampleScores",))
        with snippet.locate_errors("compute_metrics"):
            return parse_numbers(returned, where="compute_metrics")


class Resampling(Struct, frozen=True, kw_only=True):
    """When a metric is cheap enough to be computed again on resampled scores."""

    most_samples: int | None = 1_000
    """None for no limit."""
    longest_call_s: float = 2.0
    at_once: int = 20
    """Concurrent calls."""
    timed_calls: int = 1
    """Attempts to be faster than that: on a busy machine, a short call may take long."""


async def measure_resampled(
    scores: Sequence[Any],
    compute: Callable[[Sequence[Any]], Awaitable[Mapping[str, float | None]]],
    resampling: Resampling,
    *,
    seed: int,
) -> list[Measure]:
    """Return the numbers that `compute` returns, each with a bootstrap interval over samples."""
    figures, took = await _time_call(scores, compute)
    for _ in range(resampling.timed_calls - 1):
        if not 1 < took / resampling.longest_call_s < _NEVER_SHORT:
            break
        figures, took = await _time_call(scores, compute)
    why = _no_interval_reason(len(scores), took, resampling)
    drawn = {} if why else await _resample(scores, compute, resampling.at_once, seed=seed)
    return [
        _build_measure(name, value, drawn.get(name), len(scores), why)
        for name, value in figures.items()
    ]


async def _time_call(
    scores: Sequence[Any],
    compute: Callable[[Sequence[Any]], Awaitable[Mapping[str, float | None]]],
) -> tuple[Mapping[str, float | None], float]:
    started = time.perf_counter()
    figures = await compute(scores)
    return figures, time.perf_counter() - started


async def _resample(
    scores: Sequence[Any],
    compute: Callable[[Sequence[Any]], Awaitable[Mapping[str, float | None]]],
    at_once: int,
    *,
    seed: int,
) -> dict[str, list[float]]:
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn: dict[str, list[float]] = {}
    for _ in range(RESAMPLES // at_once):
        places = rng.integers(0, len(scores), (at_once, len(scores)))
        calls = [compute([scores[place] for place in row]) for row in places]
        for figures in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(figures, BaseException):
                continue
            for name, value in figures.items():
                if value is not None:
                    drawn.setdefault(name, []).append(value)
    return drawn


def parse_numbers(returned: Any, *, where: str) -> dict[str, float | None]:
    """Read the metrics that an author's function returned; ValueError if they are no numbers."""
    if not isinstance(returned, dict):
        raise ValueError(  # noqa: TRY004 - the author's code returned it
            f"{where} must return a dict of numbers, got `{_shorten(returned)}`"
        )
    numbers: dict[str, float | None] = {}
    for name, value in returned.items():
        if not isinstance(value, bool | int | float | None):
            raise ValueError(  # noqa: TRY004 - the author's code returned it
                f"{where}: expected a number for `{name}`, got `{_shorten(value)}`"
            )
        number = math.nan if value is None else float(value)
        numbers[str(name)] = number if math.isfinite(number) else None
    return numbers


def _no_interval_reason(n: int, took: float, resampling: Resampling) -> str:
    most = resampling.most_samples
    if n < _FEWEST_SAMPLES:
        return f"no interval: fewer than {_FEWEST_SAMPLES} samples"
    if most is not None and n > most:
        return f"no interval: the metric is not resampled for more than {most:,} samples"
    if took > resampling.longest_call_s:
        return f"no interval: a call takes longer than {resampling.longest_call_s:g} s"
    return ""


def _build_measure(
    name: str, value: float | None, drawn: list[float] | None, n: int, why: str
) -> Measure:
    if value is None:
        reason = "undefined: the metric returned no number" if n else NOTHING
        return Measure(name, None, None, n, reason)
    interval = resampled_interval(drawn or [], n)
    if interval is None and not why:
        why = "no interval: the resampled values are all equal, or mostly undefined"
    return Measure(name, value, interval, n, why)


def resampled_interval(drawn: Sequence[float], n: int) -> Interval | None:
    """Return the interval between quantiles of the resampled values, widened as for Student's t."""
    values = np.sort(np.asarray(drawn, dtype=np.float64))
    if values.size < RESAMPLES // 2 or values[0] == values[-1]:
        return None
    out = tail(student_confidence(0.95, n))
    return Interval(ordered_quantile(values, out), ordered_quantile(values, 1 - out), "bootstrap")


def _shorten(value: object) -> str:
    return repr(value)[:80]
