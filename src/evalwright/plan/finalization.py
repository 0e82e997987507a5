"""What is done with a task once its samples have landed: scorers of all samples, rules, metrics.

The nouns are data of a `TaskPlan`; `engine.finalize` carries them out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from evalwright.metrics.scores import Measure, Scores
from evalwright.ports import Snippets
from evalwright.stats.interval import Bounds
from evalwright.types import Outcome, Part, Score


class AllSamplesScorer(Protocol):
    """A scorer that wants all samples at once."""

    version: ClassVar[int]

    @property
    def settings(self) -> str:
        """All that can move its scores."""

    async def score_all(
        self,
        samples: Sequence[dict[str, Any]] | Mapping[str, Sequence[dict[str, Any]]],
        solver_outputs: Sequence[dict[str, Any]] | None,
        snippets: Snippets | None,
    ) -> list[Score]:
        """One score per sample, in their order."""


class TaskRule(Protocol):
    """A rule that may exclude a sample from the metrics."""

    @property
    def key(self) -> str:
        """What reports call it."""

    @property
    def action(self) -> str:
        """What it does."""

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        """Whether it applies; raise where that cannot be decided."""


class TaskMetric(Protocol):
    """Folds scores into numbers."""

    @property
    def type(self) -> str:
        """The kind of metric."""

    def fields(self) -> frozenset[str] | None:
        """The scores that it reads; None for everything."""

    def bounds(self, scores: Scores) -> Bounds:
        """The range that its numbers can have, whatever the answers."""

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Its numbers."""


class ScorerMetrics(Struct, frozen=True, kw_only=True):
    """The metrics of one scorer."""

    purpose: str = "score"
    metrics: tuple[tuple[str, TaskMetric], ...] = ()
    """Each with its key."""
    own_keys: frozenset[str] = frozenset()
    """Those of the keys that the author has given; the others are made of types and fields."""
    ranges: Mapping[str, Bounds] = {}
    """The range of each score, where the scorer states it."""
    default_metric: Callable[[str], TaskMetric] | None = None
    """Makes the metric of each numeric score if nobody said which metrics there are."""


class TrialAggregate(Struct, frozen=True, kw_only=True):
    """How one score of several trials becomes one score of the sample."""

    score: str
    """The score to aggregate, by the name that a scorer gives it."""
    function: str
    """`mean`, `min`, `max`, `pass@k` or `pass^k`."""
    k: int = 0
    names: tuple[str, ...]
    """What the result is called; a metric may use any of them."""

    @property
    def short(self) -> str:
        """The function with its k."""
        return f"{self.function[:-1]}{self.k}" if self.k else self.function


class TrialPlan(Struct, frozen=True, kw_only=True):
    """How often each sample is tried."""

    trials: int = 1
    """Trials that make one score."""
    repeats: int = 1
    """Whole runs, each with as many trials: run r has the trials r·T to r·T + T - 1."""
    aggregates: tuple[TrialAggregate, ...] = ()

    @property
    def total(self) -> int:
        """Trials of a sample in all runs."""
        return self.trials * self.repeats


class Finalization(Struct, frozen=True, kw_only=True):
    """All that is done with a task after its samples."""

    run_scorers: Mapping[str, AllSamplesScorer] = {}
    rules: Sequence[TaskRule] = ()
    measured: Mapping[str, ScorerMetrics] = {}
    """By the key of the scorer."""
    together: Callable[[Sequence[int]], dict[str, list[dict[str, Any]]]] | None = None
    """The rows of samples, by their ordinals, of each of several datasets if there are several."""
    fans_out: bool = False
    """Whether a postprocessor says what is scored: a sample may be several then, or none."""
    trials: TrialPlan | None = None
    """How the trials of a sample are aggregated; None where each is tried once."""
    has_dependent_rows: bool = False
    """Whether its rows are results of several models or trials on the same samples: taken as
    independent they would look too certain, so nothing made of them has an interval."""

    def units(self, outcome: Outcome) -> Sequence[Outcome | Part]:
        """What is scored: what a postprocessor made of the sample, or the sample itself."""
        if outcome.parts or (self.fans_out and outcome.failure is None):
            return outcome.parts
        return (outcome,)
