"""What becomes of a task when its samples have landed: metrics, exclusions, agreement of runs."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

from evalwright.errors import StageError
from evalwright.metrics.scores import Measure
from evalwright.stats.interval import UNBOUNDED, Bounds, Interval
from evalwright.types import Failure, Outcome, Stage, Usage

_UNSOLVED = {"configuration", "dataset", "solver"}
"""Stages after whose failure there is nothing to score."""


class TaskOutcomes(Struct, frozen=True, kw_only=True):
    """The outcomes of one task with one model."""

    outcomes: Callable[[], Iterator[Outcome]]
    """In their order, as often as they are asked for."""
    write: Callable[[Sequence[Outcome]], None]
    """Puts outcomes into the place of the old ones."""
    complete: bool = True
    """Whether every sample has landed: a scorer of all samples is not asked about some."""


class MetricValue(Struct, frozen=True, kw_only=True):
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
    is_default: bool = False
    """Whether it is measured because the scorer says nothing about metrics."""
    runs: tuple[float | None, ...] = ()
    """The value of each run, where the task was run several times."""
    bounds: Bounds = UNBOUNDED
    """The range that the figure can have, whatever the answers."""
    bounded: bool = False
    """In results of earlier versions: whether that range is [0, 1]."""


class TaskFailure(Struct, frozen=True, kw_only=True):
    """Something that broke for the task, and for no sample of it."""

    stage: Stage
    what: str
    failure: Failure
    scorer: str = ""
    """Whose figures are missing by it; empty for those of every scorer."""
    metric: str = ""
    """The key of the metric; empty for all of the scorer's."""


class RunAgreement(Struct, frozen=True, kw_only=True):
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


class FlakySample(Struct, frozen=True, kw_only=True):
    """A sample of which the runs say different things."""

    sample_id: str
    scorer: str
    score: str
    """The score on which they agree least."""
    agreement: float
    values: tuple[tuple[str, int], ...]
    """Each value, and how many runs gave it: the most common first."""


class FinalResult(Struct, kw_only=True):
    """What came of it."""

    figures: list[MetricValue] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)
    """How many samples each rule took out."""
    left_out: int = 0
    """How many samples are in no metric, by any rule."""
    broken: list[TaskFailure] = field(default_factory=list)
    scored: int = 0
    """Samples that could be scored: of each, what a postprocessor made of it."""
    fanned: bool = False
    """Whether some sample is scored in several parts."""
    others: dict[str, Usage] = field(default_factory=dict)
    """What other models took than the evaluated one, or it beside its answers."""
    unanswered: dict[str, Usage] = field(default_factory=dict)
    """What the evaluated model took for answers that did not come."""
    agreements: list[RunAgreement] = field(default_factory=list)
    """How far several runs agree, score by score."""
    flaky: list[FlakySample] = field(default_factory=list)
    """The samples on which they agree least."""
    all_flaky: int = 0
    """How many samples there are on which they do not all agree."""
    notes: dict[str, int] = field(default_factory=dict)
    """What judges say of how they were asked, and of how many scores."""
    stopped: str = ""
    """Why it did not come to its end, where a log says so."""


class TaskModelResult(Struct, frozen=True, kw_only=True):
    """The final result of one task with one model."""

    task: str
    model: str
    finished: FinalResult


def lacks_answer(outcome: Outcome) -> bool:
    """Whether there is nothing to score; a task without a solver has no trace even so."""
    return outcome.failure is not None and outcome.failure.stage in _UNSOLVED


def describe_failure(error: StageError, what: str = "") -> Failure:
    """What broke, and of which rule or metric."""
    message = f"`{what}`: {error}" if what else str(error)
    return Failure(stage=error.stage, type=error.type, message=message, hint=error.hint)
