"""The interface through which a run reports its progress."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct

from evalwright.plan.outline import PlanOutline
from evalwright.stats.interval import wilson
from evalwright.types import Outcome

_MOST_MODELS = 4


class RunningMean(Struct):
    """The mean of the scores that are stored so far."""

    total: float = 0.0
    n: int = 0
    is_in_unit: bool = True
    """Whether every score lies in [0, 1]."""

    def add(self, value: float) -> None:
        """Add a score."""
        self.total += value
        self.n += 1
        self.is_in_unit = self.is_in_unit and 0 <= value <= 1

    def describe(self, *, has_interval: bool) -> str:
        """`mean 0.71 [0.62, 0.79]`; empty before the first score.

        The interval is Wilson's: exact enough for binary scores, an envelope for graded ones, which
        never vary more. Scores outside [0, 1] have none here: theirs would have to be resampled.
        """
        if not self.n:
            return ""
        mean = f"mean {self.total / self.n:.2f}"
        if not (has_interval and self.is_in_unit):
            return mean
        interval = wilson(min(self.total, self.n), self.n)
        return f"{mean} [{interval.low:.2f}, {interval.high:.2f}]"


class RunningScores:
    """The running mean of the primary score, per model.

    It is shown only where one number per model is what the report will say: for one task, or for
    records, which are ranked over all their files together. Means over different tasks would mix
    scales. Above four models the lines would fill the screen. Trials of a sample are alike, so
    several of them per sample have no interval here. Outcomes of an earlier invocation are not
    read again: after a resume there is no running score.
    """

    def __init__(self, plan: PlanOutline, *, is_resumed: bool = False) -> None:
        models = [model for model in plan.models if model] or list(plan.models)
        is_one = len(plan.tasks) == 1 or plan.ranking == "all_tasks"
        is_shown = is_one and not is_resumed and len(models) <= _MOST_MODELS
        self._fields = {
            task.name: (task.primary.scorer, task.primary.field)
            for task in plan.tasks
            if task.primary is not None and is_shown
        }
        self._has_interval = plan.noun == "samples"
        self._means = {model: RunningMean() for model in models}

    def add(self, outcome: Outcome) -> None:
        """Add the primary score of an outcome, if it has one."""
        primary = self._fields.get(outcome.task)
        mean = self._means.get(outcome.model)
        if primary is None or mean is None:
            return
        score = outcome.scores.get(primary[0])
        value = score.values.get(primary[1]) if score is not None else None
        if isinstance(value, int | float) and value - value == 0:  # a number, and finite
            mean.add(value)

    def describe(self) -> Iterator[tuple[str, str]]:
        """Yield each model with its running mean, which is empty before its first score."""
        if self._fields:
            for model, mean in self._means.items():
                yield model, mean.describe(has_interval=self._has_interval)


class Progress(Protocol):
    """Receives the progress of a run."""

    def begin(
        self,
        total: int,
        done: int,
        counters: Any,
        *,
        noun: str = "samples",
        scores: RunningScores | None = None,
    ) -> None:
        """Called before the first job; `counters` is live, `noun` names what a job is.

        `scores` gets every stored outcome, and has the current mean.
        """

    def on_commit(self, outcomes: Sequence[Outcome]) -> None:
        """Called after these outcomes were stored."""

    def on_done_elsewhere(self) -> None:
        """Called after another process has stored an outcome of this run."""

    def tell(self, text: str) -> None:
        """Show a message to the user."""

    def end(self, *, interrupted: bool) -> None:
        """Called after the last job; `interrupted` if the user stopped the run."""


class SilentProgress:
    """Shows nothing."""

    def begin(
        self,
        total: int,
        done: int,
        counters: Any,
        *,
        noun: str = "samples",
        scores: RunningScores | None = None,
    ) -> None:
        """Nothing to do."""

    def on_commit(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing to do."""

    def on_done_elsewhere(self) -> None:
        """Nothing to do."""

    def tell(self, text: str) -> None:
        """Nothing to do."""

    def end(self, *, interrupted: bool) -> None:
        """Nothing to do."""
