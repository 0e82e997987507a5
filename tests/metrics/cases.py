"""Scores for metrics, and what a metric makes of them."""

import asyncio
from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from evalwright.engine.sample_labels import SampleLabels
from evalwright.metrics.base import AnyMetric
from evalwright.metrics.scores import Measure, Scores
from evalwright.plan.finalization import Finalization, ScorerMetrics

METRICS: TypeAdapter[Any] = TypeAdapter(AnyMetric)


def measures(
    fields: dict[str, Any], values: Iterable[dict[str, Any]], *, seed: int = 0
) -> list[Measure]:
    """Of a metric that reads samples, the rows are the samples too."""
    metric = METRICS.validate_python(fields)
    labels = SampleLabels(
        Finalization(measured={"scorer": ScorerMetrics(metrics=(("metric", metric),))})
    )
    scores = Scores(metric.fields(), expressions=[each.source for each in metric.expressions])
    for one in values:
        scores.add(one, {}, labels.read(one, "the model", is_excluded=False))
    found: list[Measure] = asyncio.run(metric.measure(scores, seed=seed, snippets=None))
    return found


def measure(fields: dict[str, Any], values: Iterable[dict[str, Any]], *, seed: int = 0) -> Measure:
    (found,) = measures(fields, values, seed=seed)
    return found


def of(values: Iterable[Any]) -> list[dict[str, Any]]:
    """Scores with one field, `x`."""
    return [{"x": value} for value in values]
