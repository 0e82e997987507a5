"""How each sample enters a metric, so that two runs can be compared sample by sample."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from evalwright.types import Json

Form = Literal["mean", "share", "f1"]


class SampleTerms(Struct, frozen=True, kw_only=True):
    """A metric that is a mean of one number per sample, or a ratio of sums over the samples."""

    fields: tuple[str, ...]
    """The scores that it reads."""
    form: Form = "mean"
    """`share` is Σ first / Σ (first + second); `f1` is 2 Σ first / (2 Σ first + Σ others)."""
    weights: dict[str, float] = {}
    """The weight of each label, if the score is a label."""

    def read(self, values: Mapping[str, Json]) -> tuple[float, ...] | None:
        """Return the sample's numbers, one per field; None if one is missing."""
        numbers = []
        for name in self.fields:
            value: Any = values.get(name)
            if self.weights:
                value = self.weights.get(str(value))
            if not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN
                return None
            numbers.append(float(value))
        return tuple(numbers)
