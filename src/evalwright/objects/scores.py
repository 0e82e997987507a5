"""Scores and metrics as snippets see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .record import Keyed


class SampleScore(Keyed):
    """The scores of one scorer for one sample: the input of an author's metric."""

    __slots__ = ("direct_ios", "metadata", "values")

    fields = ("values", "metadata", "direct_ios")

    def __init__(
        self,
        values: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        direct_ios: Iterable[Any] = (),
    ) -> None:
        self.values = values
        self.metadata = metadata
        self.direct_ios = list(direct_ios)

    @classmethod
    def from_json(cls, score: Mapping[str, Any]) -> SampleScore:
        """Create it from an object with `values`, and optionally the other fields."""
        return cls(score["values"], score.get("metadata"), score.get("direct_ios") or ())


class SystemTaskMetricEntry(Keyed):
    """One value of a system task, and the reason for it."""

    __slots__ = ("reason", "value")

    fields = ("value", "reason")

    def __init__(self, value: float, reason: str | None = None) -> None:
        self.value = value
        self.reason = reason


class SystemTaskOutput(Keyed):
    """What `compute_evidence` may return."""

    __slots__ = ("metrics",)

    fields = ("metrics",)

    def __init__(self, metrics: Mapping[str, Any]) -> None:
        self.metrics: dict[str, SystemTaskMetricEntry] = {}
        for name, entry in metrics.items():
            if isinstance(entry, SystemTaskMetricEntry):
                self.metrics[name] = entry
            elif isinstance(entry, dict) and "value" in entry:
                self.metrics[name] = SystemTaskMetricEntry(entry["value"], entry.get("reason"))
            else:
                raise ValueError(f"expected an object with a `value` for `{name}`, got `{entry!r}`")
