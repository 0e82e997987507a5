"""The results of a task after its last sample: metrics, exclusions, agreement of runs."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

from evalwright.errors import StageError
from evalwright.metrics.scores import Measure
from evalwright.stats.interval import UNBOUNDED, Bounds, Interval
from evalwright.types import Failure, Outcome, Stage, Usage

_UNSOLVED = {"configuration", "dataset", "solver"}
"""Stages whose failure leaves nothing to score."""


class TaskOutcomes(Struct, frozen=True, kw_only=True):
    """The outcomes of one task with one model."""

    outcomes: Callable[[], Iterator[Outcome]]
    """Yields the outcomes in order; each call starts again."""
    write: Callable[[Sequence[Outcome]], None]
    """Replaces outcomes."""
    complete: bool = True
    """Whether every sample is done: a scorer of all samples is not called for some of them."""


class MetricValue(Struct, frozen=True, kw_only=True):
    """One metric value of a task."""

    scorer: str
    metric: str
    measure: Measure
    purpose: str = "score"
    type: str = ""
    failed: int = 0
    """Samples that this scorer could not score."""
    absent: int = 0
    """Samples that it has scored, but without a value for this metric."""
    own_key: bool = False
    """Whether the author set the metric's key."""
    is_default: bool = False
    """Whether it is a default metric, because the scorer lists none."""
    runs: tuple[float | None, ...] = ()
    """The value of each run, if the task was run several times."""
    bounds: Bounds = UNBOUNDED
    """The range of possible values."""
    group: str | None = None
    """The group of samples that it covers; None for all samples."""
    excluded: int = 0
    """Samples of the group that rules exclude."""
    ungrouped: int = 0
    """Samples that are in no group, although the metric has groups."""
    bounded: bool = False
    """In results of earlier versions: whether the range is [0, 1]."""


class TaskFailure(Struct, frozen=True, kw_only=True):
    """A failure of the task, not of a sample."""

    stage: Stage
    what: str
    failure: Failure
    scorer: str = ""
    """The scorer whose metrics are missing; empty for all scorers."""
    metric: str = ""
    """The key of the metric; empty for all metrics of the scorer."""


class RunAgreement(Struct, frozen=True, kw_only=True):
    """Agreement of the runs on one score."""

    scorer: str
    score: str
    mean: float
    """Mean agreement over the samples."""
    interval: Interval | None
    n: int
    """Samples that were compared."""
    flaky: int
    """Samples among them whose runs do not all agree."""


class FlakySample(Struct, frozen=True, kw_only=True):
    """A sample on which the runs differ."""

    sample_id: str
    scorer: str
    score: str
    """The score on which they agree least."""
    agreement: float
    values: tuple[tuple[str, int], ...]
    """Each value with the number of runs that have it, most common first."""


class FinalResult(Struct, kw_only=True):
    """The final result of a task."""

    figures: list[MetricValue] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)
    """Number of samples that each rule excludes."""
    left_out: int = 0
    """Number of samples that any rule excludes."""
    broken: list[TaskFailure] = field(default_factory=list)
    scored: int = 0
    """Samples that could be scored, counted after the postprocessor."""
    fanned: bool = False
    """Whether some sample is scored in several parts."""
    others: dict[str, Usage] = field(default_factory=dict)
    """Usage of other models, and of the evaluated one besides its answers."""
    unanswered: dict[str, Usage] = field(default_factory=dict)
    """Usage of the evaluated model for failed answers."""
    agreements: list[RunAgreement] = field(default_factory=list)
    """Agreement of several runs, score by score."""
    flaky: list[FlakySample] = field(default_factory=list)
    """The samples on which they agree least."""
    all_flaky: int = 0
    """Number of samples on which they do not all agree."""
    notes: dict[str, int] = field(default_factory=dict)
    """Notes on how judges were queried, with the number of scores."""
    stopped: str = ""
    """Why it did not finish, if an imported log says so."""


class TaskModelResult(Struct, frozen=True, kw_only=True):
    """The final result of one task with one model."""

    task: str
    model: str
    finished: FinalResult


def lacks_answer(outcome: Outcome) -> bool:
    """Whether there is nothing to score; a task without a solver never has a trace."""
    return outcome.failure is not None and outcome.failure.stage in _UNSOLVED


def describe_failure(error: StageError, what: str = "") -> Failure:
    """Return what failed, and of which rule or metric."""
    message = f"`{what}`: {error.message}" if what else error.message
    return Failure(stage=error.stage, type=error.type, message=message, hint=error.hint)
