"""A function as a metric.

    @ew.metric
    def median(values) -> float:
        return statistics.median(values)

    @ew.metric(name="recall", label="cat")
    def recall_of(scores, *, label) -> float:
        found = [score["is_correct"] for score in scores if score["label"] == label]
        return sum(found) / len(found)

A function takes `values` (the numbers of a scorer, one per sample) or `scores` (a dict per sample,
with each score by name). It returns a number, or a dict of several numbers by name. Samples without
a score are left out and counted.

To compute a confidence interval, the function is called again on resampled scores. This requires at
least 10 samples, and the first call must take at most 50 milliseconds.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from msgspec import structs
from pydantic import PrivateAttr

from evalwright.errors import UsageError
from evalwright.functions.decorators import (
    AnyFunction,
    Decoration,
    FunctionKind,
    Parameters,
    ReadFunction,
    Result,
    call_in_thread,
    decorate,
    read_function,
)
from evalwright.metrics.base import NOTHING, MetricSpec, describe_missing, join_reasons
from evalwright.metrics.python import Resampling, measure_resampled, parse_numbers
from evalwright.metrics.scores import Measure, Scores
from evalwright.ports import Snippets
from evalwright.templates import Native

METRIC = FunctionKind(
    noun="metric",
    arguments=("values", "scores"),
    rule="`values` (numbers) or `scores` (a dict per sample)",
)
_RESAMPLING = Resampling(most_samples=None, longest_call_s=0.05, at_once=1, timed_calls=3)


class FunctionMetric(MetricSpec):
    """The numbers that a function computes from the scores of one scorer."""

    type: Literal["function"] = "function"
    identity: str
    """Hash of the function and its parameters."""
    field: str | None = None
    """Score whose numbers the function gets; None for all scores of each sample."""

    _function: AnyFunction = PrivateAttr()

    def fields(self) -> frozenset[str] | None:
        """Return the score that it reads; None for whole records."""
        return None if self.field is None else frozenset({self.field})

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Compute a value for each returned number."""
        del snippets
        missing, data = "", list[Any]()
        if self.field is None:
            data = [dict(record.values) for record in scores.records()]
        else:
            values, there = scores.column(self.field).numbers()
            data = values[there].tolist()
            missing = describe_missing(there.size - len(data), there.size)
        if not data:
            return [Measure(str(self.key), None, None, 0, missing or NOTHING)]
        measures = await measure_resampled(data, self._compute, _RESAMPLING, seed=seed)
        return [
            structs.replace(measure, reason=join_reasons(measure.reason, missing))
            for measure in measures
        ]

    async def _compute(self, data: Sequence[Any]) -> dict[str, float | None]:
        returned = await call_in_thread(self._function, data)
        several = returned if isinstance(returned, dict) else {str(self.key): returned}
        if returned is None:
            raise ValueError(
                f"the metric `{self.key}` must return a number, got None: is a `return` missing?"
            )
        numbers = {
            name: value.item() if hasattr(value, "item") else value  # a number of numpy
            for name, value in several.items()
        }
        return parse_numbers(numbers, where=f"the metric `{self.key}`")


@overload
def metric(function: Callable[Parameters, Result], /) -> Callable[Parameters, Result]: ...


@overload
def metric(
    *, name: str = "", version: int = 1, by: str = "", **parameters: object
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]: ...


def metric(
    function: AnyFunction | None = None,
    /,
    *,
    name: str = "",
    version: int = 1,
    by: str = "",
    **parameters: Any,
) -> Any:
    """Mark a function as a metric; the function can still be called as before.

    The function takes `values` (a scorer's numbers) or `scores` (one dict per sample), and returns
    a number or a dict of numbers by name. `parameters` are passed to the function. With `by`, such
    as `"{{ sample.category }}"`, the metric is also computed for each group of samples.

    >>> @ew.metric(name="p90", percent=90)
    ... def percentile(values, *, percent):
    ...     return sorted(values)[len(values) * percent // 100]
    """

    def mark(function: AnyFunction) -> AnyFunction:
        decorate(METRIC, function, Decoration(name, version, parameters, by))
        return function

    return mark if function is None else mark(function)


def make_metric(function: AnyFunction, field: str | None) -> FunctionMetric:
    """Return the metric of a function; `field` is the score that `values` are."""
    read = read_function(METRIC, function)
    if len(read.takes) > 1:
        raise UsageError(
            f"the metric `{read.name}` takes both `values` and `scores`: use one of them"
        )
    takes_values = "values" in read.takes
    function_metric = FunctionMetric(
        key=read.name,
        identity=read.identity,
        field=field if takes_values else None,
        by=_parse_groups(read),
    )
    function_metric._function = read.call  # noqa: SLF001 - its own private attribute
    return function_metric


def _parse_groups(read: ReadFunction) -> Native | None:
    try:
        return Native(read.by) if read.by else None
    except ValueError as error:
        raise UsageError(f"the metric `{read.name}`: `by`: {error}") from None
