"""What all scorers of a task document have in common.

    scorers:
      - type: string_equals
        key: exact                  # all of these are optional
        display_name: Exact answer
        purpose: score
        metrics:
          - type: mean
            field: is_correct

Without `metrics` a scorer has its `default_metrics`; with `metrics: []` it has none.
"""

from functools import cached_property
from json import dumps
from typing import Any, ClassVar, Literal

from msgspec import json

from evalwright.components import FOR_KEYS, Component, UserKey
from evalwright.metrics.any import AnyMetric
from evalwright.types import Sample, Score

_NOT_IN_THE_SCORE = {"key", "purpose", "display_name", "metrics"}
_LONGEST_SHOWN = 80


class ScorerSpec(Component):
    """A scorer, as a document writes it."""

    type: str
    """The kind of scorer."""
    key: UserKey | None = None
    """What action rules and reports call this scorer; without it, its type."""
    purpose: Literal["score", "qa"] = "score"
    """`score`: its metrics are results of the task. `qa`: its values are for checks and action
    rules, it has no default metrics, and the metrics it lists are shown apart."""
    display_name: str | None = None
    """What people read in its place."""
    metrics: list[AnyMetric] | None = None
    """How its scores become figures of the task. Without it, the scorer's default metrics."""

    version: ClassVar[int] = 1
    """Grows with every change that could move a score."""
    gives: ClassVar[tuple[str, ...] | None] = None
    """The scores that it gives; None where only a run can show."""
    texts: ClassVar[tuple[str, ...]] = ()
    """Those of them that are texts: of these, several trials leave nothing."""
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Type and field of each metric that a scorer without `metrics` has."""

    @property
    def name(self) -> str:
        """Its type."""
        return self.type

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The models that it asks beside the one that is evaluated."""
        return ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that it names itself, in no template, and cannot do without."""
        return ()

    @property
    def asks(self) -> bool:
        """Whether it asks any model."""
        return bool(self.model_keys)

    @cached_property
    def settings(self) -> str:
        """All of its fields that can move a score, as canonical JSON."""
        fields = self.model_dump(mode="json", exclude=_NOT_IN_THE_SCORE, context=FOR_KEYS)
        return dumps(fields, sort_keys=True, ensure_ascii=False)

    def reads(self, sample: Sample) -> str:
        """The scorer's own fields, and the row: a template or a snippet may look at any column."""
        return f"{self.settings}{json.encode(sample.data, enc_hook=str).decode()}"

    def revised(self, score: Score) -> Score | None:
        """A stored score as this scorer would make it now, without asking; None if it cannot."""
        return score


def short(value: Any) -> str:
    """What it looks like, of a long text the beginning."""
    if not isinstance(value, str):
        value = str(value)
    return repr(value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}…")


def apart(actual: Any, expected: Any) -> str:
    """The reason of a score below full marks."""
    return f"{short(actual)} against {short(expected)}"
