"""The nouns of the end of a task: what is done after its samples, and what came of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from msgspec import Struct, field

from evalwright.errors import StageError
from evalwright.metrics.measure import Measure
from evalwright.metrics.scores import Scores
from evalwright.ports import Snippets
from evalwright.stats.interval import Interval
from evalwright.types import Failure, Outcome, Part, Score, Stage, Usage

_UNSOLVED = {"configuration", "dataset", "solver"}
"""Stages after whose failure there is nothing to score."""


class RunScorer(Protocol):
    """A scorer that wants all samples at once."""

    version: ClassVar[int]

    @property
    def settings(self) -> str:
        """All that can move its scores."""
        ...

    async def score_all(
        self,
        samples: Sequence[dict[str, Any]] | Mapping[str, Sequence[dict[str, Any]]],
        solver_outputs: Sequence[dict[str, Any]] | None,
        snippets: Snippets | None,
    ) -> list[Score]:
        """One score a sample, in their order."""
        ...


class Rule(Protocol):
    """What may take a sample out of the metrics."""

    @property
    def key(self) -> str:
        """What reports call it."""
        ...

    @property
    def action(self) -> str:
        """What it does."""
        ...

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        """Whether it does; raise where that cannot be said."""
        ...


class Metric(Protocol):
    """Scores to figures."""

    @property
    def type(self) -> str:
        """The kind of metric."""
        ...

    def fields(self) -> frozenset[str] | None:
        """The scores that it reads; None for everything."""
        ...

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Its figures."""
        ...


class Measured(Struct, frozen=True, kw_only=True):
    """The metrics of one scorer."""

    purpose: str = "score"
    metrics: tuple[tuple[str, Metric], ...] = ()
    """Each with its key."""
    own_keys: frozenset[str] = frozenset()
    """Those of the keys that the author has given; the others are made of types and fields."""


class Aggregate(Struct, frozen=True, kw_only=True):
    """How one score of several trials becomes one score of the sample."""

    score: str
    """What is brought together, by the name that a scorer gives it."""
    function: str
    """`mean`, `min`, `max`, `pass@k` or `pass^k`."""
    k: int = 0
    names: tuple[str, ...]
    """What the result is called; a metric may use any of them."""

    @property
    def short(self) -> str:
        """The function with its k."""
        return f"{self.function[:-1]}{self.k}" if self.k else self.function


class Trials(Struct, frozen=True, kw_only=True):
    """How often each sample is tried."""

    trials: int = 1
    """Tries that make one score."""
    repeats: int = 1
    """Whole runs, each with as many trials: run r has the trials r·T to r·T + T - 1."""
    aggregates: tuple[Aggregate, ...] = ()

    @property
    def total(self) -> int:
        """Tries of a sample in all runs."""
        return self.trials * self.repeats


class Finishing(Struct, frozen=True, kw_only=True):
    """All that is done with a task after its samples."""

    run_scorers: Mapping[str, RunScorer] = {}
    rules: Sequence[Rule] = ()
    measured: Mapping[str, Measured] = {}
    """By the key of the scorer."""
    together: Callable[[Sequence[int]], dict[str, list[dict[str, Any]]]] | None = None
    """The rows of samples, by their ordinals, of each of several datasets if there are several."""
    fans_out: bool = False
    """Whether a postprocessor says what is scored: a sample may be several then, or none."""
    trials: Trials | None = None
    """How the trials of a sample are brought together; None where each is tried once."""

    def units(self, outcome: Outcome) -> Sequence[Outcome | Part]:
        """What is scored: what a postprocessor made of the sample, or the sample itself."""
        if outcome.parts or (self.fans_out and outcome.failure is None):
            return outcome.parts
        return (outcome,)


class Landed(Struct, frozen=True, kw_only=True):
    """The outcomes of one task with one model."""

    outcomes: Callable[[], Iterator[Outcome]]
    """In their order, as often as they are asked for."""
    write: Callable[[Sequence[Outcome]], None]
    """Puts outcomes into the place of the old ones."""
    complete: bool = True
    """Whether every sample has landed: a scorer of all samples is not asked about some."""


class Figure(Struct, frozen=True, kw_only=True):
    """One figure of a task."""

    scorer: str
    metric: str
    measure: Measure
    purpose: str = "score"
    type: str = ""
    failed: int = 0
    """Samples that this scorer could not judge."""
    absent: int = 0
    """Samples that it has judged, and whose score has no value for this figure."""
    own_key: bool = False
    """Whether the author has given the metric its key."""
    runs: tuple[float | None, ...] = ()
    """The value of each run, where the task was run several times."""
    bounded: bool = False
    """Whether those lie in [0, 1] whatever the answers."""


class Broken(Struct, frozen=True, kw_only=True):
    """Something that broke for the task, and for no sample of it."""

    stage: Stage
    what: str
    failure: Failure
    scorer: str = ""
    """Whose figures are missing by it; empty for those of every scorer."""
    metric: str = ""
    """The key of the metric; empty for all of the scorer's."""


class Agreement(Struct, frozen=True, kw_only=True):
    """How far the runs agree on one score."""

    scorer: str
    score: str
    mean: float
    """Of the samples' agreements."""
    interval: Interval | None
    n: int
    """Samples that were compared."""
    flaky: int
    """Samples of them whose runs do not all agree."""


class Flaky(Struct, frozen=True, kw_only=True):
    """A sample of which the runs say different things."""

    sample_id: str
    scorer: str
    score: str
    """The score on which they agree least."""
    agreement: float
    values: tuple[tuple[str, int], ...]
    """Each value, and how many runs gave it: the most common first."""


class Finished(Struct, kw_only=True):
    """What came of it."""

    figures: list[Figure] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)
    """How many samples each rule took out."""
    left_out: int = 0
    """How many samples are in no metric, by any rule."""
    broken: list[Broken] = field(default_factory=list)
    scored: int = 0
    """Samples that could be scored: of each, what a postprocessor made of it."""
    fanned: bool = False
    """Whether some sample is scored in several parts."""
    others: dict[str, Usage] = field(default_factory=dict)
    """What other models took than the evaluated one, or it beside its answers."""
    unanswered: dict[str, Usage] = field(default_factory=dict)
    """What the evaluated model took for answers that did not come."""
    agreements: list[Agreement] = field(default_factory=list)
    """How far several runs agree, score by score."""
    flaky: list[Flaky] = field(default_factory=list)
    """The samples on which they agree least."""
    all_flaky: int = 0
    """How many samples there are on which they do not all agree."""
    notes: dict[str, int] = field(default_factory=dict)
    """What judges say of how they were asked, and of how many scores."""
    stopped: str = ""
    """Why it did not come to its end, where a log says so."""


def unsolved(outcome: Outcome) -> bool:
    """Whether there is nothing to score; a task without a solver has no trace even so."""
    return outcome.failure is not None and outcome.failure.stage in _UNSOLVED


def failure_of(error: StageError, what: str = "") -> Failure:
    """What broke, and of which rule or metric."""
    message = f"`{what}`: {error}" if what else str(error)
    return Failure(stage=error.stage, type=error.type, message=message, hint=error.hint)
