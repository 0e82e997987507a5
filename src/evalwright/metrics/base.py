"""What all metrics of a task document have in common.

    metrics:
      - type: mean
        key: accuracy        # optional
        field: is_correct

Reading a document needs the classes alone: what computes with numpy is imported when a metric
measures.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from evalwright.components import Authored, Component, OwnKey

if TYPE_CHECKING:
    from evalwright.metrics.measure import Measure
    from evalwright.metrics.scores import Scores
    from evalwright.ports import Snippets
    from evalwright.stats.unit import Floats

Name = Annotated[str, Field(min_length=1)]

NOTHING = "there are no scores"


class MetricSpec(Component):
    """A metric, as a document writes it."""

    type: str
    """The kind of metric."""
    key: OwnKey | None = None
    """What reports call this metric; without it, its type."""

    version: ClassVar[int] = 1
    """Grows with every change that could move a figure."""

    @property
    def own_key(self) -> bool:
        """Whether its author has given it its key; one of its type and field was made for it."""
        return isinstance(self.key, Authored)


class FieldMetric(MetricSpec):
    """A metric of one field."""

    field: Name
    """The score that it is made of. True and false count as 1 and 0, null is left out."""
    name: Name | None = None
    """What the figure is called; without it, the field and the type: `is_correct_mean`."""

    def fields(self) -> frozenset[str]:
        """The scores that it reads."""
        return frozenset({self.field})

    @property
    def figure(self) -> str:
        """What the figure is called."""
        return self.name or f"{self.field}_{self.type}"

    def numbers(self, scores: "Scores") -> "tuple[Floats, str]":
        """The numbers of the field, and what was left out, in words."""
        values, there = scores.column(self.field).numbers()
        return (values if there.all() else values[there]), left_out(
            there.size - values[there].size, there.size
        )


def left_out(absent: int, n: int) -> str:
    """How many scores have no value, in words; empty for none."""
    return f"{absent} of {n} scores have no value" if absent else ""


def told(*reasons: str) -> str:
    """Several reasons as one line."""
    return "; ".join(reason for reason in reasons if reason)


class CountsMetric(MetricSpec):
    """A ratio of counts, each summed over all samples before they are divided."""

    name: Name | None = None
    """What the figure is called; without it, the type."""

    formula: ClassVar[str] = "share"
    """The function of `ratios` that divides the sums."""

    def fields(self) -> frozenset[str]:
        """The scores that it reads."""
        return frozenset(self.counts)

    async def measure(
        self, scores: "Scores", *, seed: int, snippets: "Snippets | None"
    ) -> "list[Measure]":
        """One figure."""
        from evalwright.metrics import ratios

        del snippets
        divide = getattr(ratios, self.formula)
        name = self.name or self.type
        return [ratios.ratio_of_fields(name, scores, self.counts, divide, seed=seed)]

    @property
    def counts(self) -> tuple[str, ...]:
        """The names of the scores that are summed, in the order of the fields that say them."""
        return tuple(
            getattr(self, field) for field in type(self).model_fields if field.endswith("_field")
        )


class ExtremeMetric(FieldMetric):
    """The largest or the smallest value; there is no interval for either."""

    word: ClassVar[str]
    """`largest` or `smallest`."""

    async def measure(
        self, scores: "Scores", *, seed: int, snippets: "Snippets | None"
    ) -> "list[Measure]":
        """One figure."""
        from evalwright.metrics.measure import Measure

        del seed, snippets
        values, absent = self.numbers(scores)
        if not values.size:
            return [Measure(self.figure, None, None, 0, absent or NOTHING)]
        unseen = f"the {self.word} value of a sample says nothing about values that were not seen"
        found = values.max() if self.word == "largest" else values.min()
        reason = told(f"no interval: {unseen}", absent)
        return [Measure(self.figure, float(found), None, int(values.size), reason)]
