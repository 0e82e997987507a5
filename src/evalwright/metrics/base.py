"""Base classes of the metrics in task documents.

metrics:
  - type: mean
    key: accuracy        # optional
    field: is_correct
"""

from typing import Annotated, Any, ClassVar

from msgspec import structs
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from evalwright.components import Authored, Component, ComponentUnion, OwnKey
from evalwright.metrics.scores import Measure, Scores
from evalwright.metrics.terms import SampleTerms
from evalwright.ports import Snippets
from evalwright.stats.arrays import Floats, np
from evalwright.stats.interval import UNBOUNDED, Bounds, clip_interval
from evalwright.stats.mean import average
from evalwright.templates import Native

Name = Annotated[str, Field(min_length=1)]

NOTHING = "there are no scores"


class MetricSpec(Component):
    """A metric in a document."""

    type: str
    """The kind of metric."""
    key: OwnKey | None = None
    """Name of the metric in reports. Default: the metric's type."""
    display_name: Name | None = None
    """Display name. For a metric with several values, it is a prefix of their names."""
    by: Native | None = None
    """Groups, such as `{{ sample.category }}`. The metric is computed for all samples, and again
    for each value of this template. May refer to `sample` and `model`. A sample for which the
    value is null, blank or missing is in no group."""

    version: ClassVar[int] = 1
    """Increase it with every change that could change a value."""

    @property
    def own_key(self) -> bool:
        """Whether the author set its key; otherwise it is generated from type and field."""
        return isinstance(self.key, Authored)

    @property
    def expressions(self) -> tuple[Native, ...]:
        """The templates whose value the metric needs for each sample."""
        return () if self.by is None else (self.by,)

    @model_serializer(mode="wrap")
    def _omit_unset_groups(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave `by` out if it is unset, so that digests of older tasks stay the same."""
        fields: dict[str, Any] = serialize(self)
        if self.by is None:
            fields.pop("by", None)
        return fields

    def fields(self) -> frozenset[str] | None:
        """Return the names of the scores that the metric reads; None for whole records."""
        raise NotImplementedError

    def bounds(self, scores: Scores) -> Bounds:
        """Return the range of possible values."""
        del scores
        return UNBOUNDED

    def sample_terms(self) -> SampleTerms | None:
        """Return how each sample enters the value; None if two runs cannot be paired by it."""
        return None

    @property
    def value_name(self) -> str:
        """Return the name of the value in reports."""
        return getattr(self, "name", None) or self.type

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Compute the metric's values over all included samples."""
        raise NotImplementedError


AnyMetric = Annotated[MetricSpec, ComponentUnion("metrics")]
"""One metric of a scorer."""


class ScoreMetric(MetricSpec):
    """A metric that reads only the scores named by its keys that contain `field`."""

    def fields(self) -> frozenset[str]:
        """Return the names of the scores that the metric reads."""
        keys = (key for key in type(self).model_fields if "field" in key.split("_"))
        return frozenset(getattr(self, key) for key in keys)

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Compute the metric's values over all included samples."""
        del snippets
        return self.compute(scores, seed=seed)

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute the metric's values."""
        raise NotImplementedError


class ShareMetric(ScoreMetric):
    """A metric whose values are fractions from 0 to 1."""

    def bounds(self, scores: Scores) -> Bounds:
        """Return the range of a fraction."""
        del scores
        return 0.0, 1.0


class FieldMetric(ScoreMetric):
    """A metric of one field."""

    field: Name
    """Score to aggregate. True counts as 1 and false as 0; null is excluded."""
    name: Name | None = None
    """Name of the result. Default: the field and the type, such as `is_correct_mean`."""

    def fields(self) -> frozenset[str]:
        """Return the name of the field."""
        return frozenset({self.field})

    @property
    def value_name(self) -> str:
        """Return the name of the value in reports."""
        return self.name or f"{self.field}_{self.type}"

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute one value from the numbers of the field."""
        values, known = scores.column(self.field).numbers()
        values, n = (values if known.all() else values[known]), known.size
        missing = describe_missing(n - values.size, n)
        if not values.size:
            return [Measure(self.value_name, None, None, 0, missing or NOTHING)]
        measure = self.measure_numbers(values, missing, seed=seed)
        interval = clip_interval(measure.interval, self.bounds(scores))
        return [structs.replace(measure, interval=interval)]

    def measure_numbers(self, values: Floats, missing: str, *, seed: int) -> Measure:
        """Aggregate one or more numbers; `missing` describes the excluded scores."""
        raise NotImplementedError

    def bounds(self, scores: Scores) -> Bounds:
        """Return the range of possible values, which is the range of the field."""
        return scores.bounds(self.field)


def describe_missing(absent: int, n: int) -> str:
    """Return a phrase with the number of scores without a value; empty if known are none."""
    return f"{absent} of {n} scores have no value" if absent else ""


def join_reasons(*reasons: str) -> str:
    """Join the non-empty reasons."""
    return "; ".join(reason for reason in reasons if reason)


class ExtremeMetric(FieldMetric):
    """The largest or the smallest value. Neither has an interval."""

    word: ClassVar[str]
    """`largest` or `smallest`."""

    def measure_numbers(self, values: Floats, missing: str, *, seed: int) -> Measure:
        """Return the largest or the smallest number."""
        del seed
        unseen = f"the {self.word} observed value says nothing about unseen values"
        extreme = values.max() if self.word == "largest" else values.min()
        reason = join_reasons(f"no interval: {unseen}", missing)
        return Measure(self.value_name, float(extreme), None, int(values.size), reason)


def average_measure(
    name: str, values: Floats, missing: str, *, seed: int, bounds: Bounds = UNBOUNDED
) -> Measure:
    """Return the average as a named measure; `missing` describes the excluded scores."""
    n = int(values.size)
    if not n:
        return Measure(name, None, None, 0, missing or NOTHING)
    if not np.isfinite(values).all():
        return Measure(name, None, None, n, join_reasons("some values are infinite", missing))
    mean = average(values, seed=seed, bounds=bounds)
    return Measure(name, mean.mean, mean.interval, n, join_reasons(mean.reason, missing))
