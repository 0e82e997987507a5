"""What is done with a task after its last sample: scorers of all samples, rules, metrics.

These types are data of a `TaskPlan`; `engine.finalize` applies them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from evalwright.metrics.scores import Measure, Scores
from evalwright.metrics.terms import SampleTerms
from evalwright.ports import Snippets
from evalwright.stats.interval import Bounds
from evalwright.templates import Native
from evalwright.types import Outcome, Part, Score


class AllSamplesScorer(Protocol):
    """A scorer that needs all samples at once."""

    version: ClassVar[int]

    @property
    def settings(self) -> str:
        """Everything that can change its scores."""

    async def score_all(
        self,
        samples: Sequence[dict[str, Any]] | Mapping[str, Sequence[dict[str, Any]]],
        solver_outputs: Sequence[dict[str, Any]] | None,
        snippets: Snippets | None,
    ) -> list[Score]:
        """Return one score per sample, in order."""


class TaskRule(Protocol):
    """A rule that may exclude a sample from the metrics."""

    @property
    def key(self) -> str:
        """Its name in reports."""

    @property
    def action(self) -> str:
        """The action."""

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        """Whether it applies; raise if that cannot be decided."""


class TaskMetric(Protocol):
    """Computes numbers from scores."""

    @property
    def type(self) -> str:
        """The kind of metric."""

    @property
    def by(self) -> Native | None:
        """The template that groups the samples; None for no groups."""

    @property
    def expressions(self) -> tuple[Native, ...]:
        """The templates whose value it needs for each sample."""

    def fields(self) -> frozenset[str] | None:
        """The scores that it reads; None for all."""

    @property
    def value_name(self) -> str:
        """The name of its value in reports, if it has one value."""

    def sample_terms(self) -> SampleTerms | None:
        """How each sample enters the value; None if two runs cannot be paired by it."""

    def bounds(self, scores: Scores) -> Bounds:
        """The range of possible values."""

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Compute its values."""


class ScorerMetrics(Struct, frozen=True, kw_only=True):
    """The metrics of one scorer."""

    purpose: str = "score"
    metrics: tuple[tuple[str, TaskMetric], ...] = ()
    """The metrics by key."""
    own_keys: frozenset[str] = frozenset()
    """The keys that the author set; others are generated from types and fields."""
    ranges: Mapping[str, Bounds] = {}
    """The range of each score, if the scorer states it."""
    default_metric: Callable[[str], TaskMetric] | None = None
    """Creates the default metric of each numeric score if no metrics are listed."""


class TrialAggregate(Struct, frozen=True, kw_only=True):
    """How the trials of one score are combined."""

    score: str
    """The score to aggregate, by the scorer's name for it."""
    function: str
    """`mean`, `min`, `max`, `pass@k` or `pass^k`."""
    k: int = 0
    names: tuple[str, ...]
    """Names of the result; a metric may use any of them."""

    @property
    def short(self) -> str:
        """The function with its k."""
        return f"{self.function[:-1]}{self.k}" if self.k else self.function


class TrialPlan(Struct, frozen=True, kw_only=True):
    """The trials of each sample."""

    trials: int = 1
    """Trials per score."""
    repeats: int = 1
    """Whole runs, each with as many trials: run r has the trials r·T to r·T + T - 1."""
    aggregates: tuple[TrialAggregate, ...] = ()

    @property
    def total(self) -> int:
        """Trials of a sample in all runs."""
        return self.trials * self.repeats


class Finalization(Struct, frozen=True, kw_only=True):
    """Everything that is done with a task after its samples."""

    run_scorers: Mapping[str, AllSamplesScorer] = {}
    rules: Sequence[TaskRule] = ()
    measured: Mapping[str, ScorerMetrics] = {}
    """By the key of the scorer."""
    together: Callable[[Sequence[int]], dict[str, list[dict[str, Any]]]] | None = None
    """The rows of samples, by their ordinals; of each dataset if there are several."""
    fans_out: bool = False
    """Whether a postprocessor decides what is scored: a sample may become several, or none."""
    trials: TrialPlan | None = None
    """How the trials of a sample are aggregated; None with one trial per sample."""
    has_dependent_rows: bool = False
    """Whether its rows are results of several models or trials on the same samples: taken as
    independent they would look too certain, so nothing computed from them has an interval."""

    @property
    def metrics(self) -> Iterator[TaskMetric]:
        """All metrics that its scorers list."""
        for measured in self.measured.values():
            yield from (metric for _, metric in measured.metrics)

    def units(self, outcome: Outcome) -> Sequence[Outcome | Part]:
        """Return what is scored: the postprocessor's result, or the sample itself."""
        if outcome.parts or (self.fans_out and outcome.failure is None):
            return outcome.parts
        return (outcome,)
