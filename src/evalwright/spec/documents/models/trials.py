"""The number of trials per sample, and the aggregation of their scores.

    trials:
      num_trials: 5
      score_aggregators:
        - score_name: is_correct
          aggregator: { function: pass^k, k: 3 }      # is_correct.pass^3, and pass^3
        - score_name: is_correct
          aggregator: { function: min, score_name: always_right }

Numbers and booleans are averaged under their own name, and as `is_correct.mean`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from evalwright.components import Component, Title
from evalwright.vocabulary import MAX_SAMPLES

Function = Literal["mean", "min", "max", "pass@k", "pass^k"]
TrialCount = Annotated[int, Field(ge=2, le=MAX_SAMPLES, strict=True)]
PASS_FUNCTIONS = ("pass@k", "pass^k")


class Aggregator(Component):
    """Aggregates the scores of several trials."""

    function: Function
    """Aggregation function. `mean`, `min`, `max`: of the scores. `pass@k`: the probability that at
    least one of k trials passes, 1 - (1 - p)^k. `pass^k`: the probability that all k trials pass,
    p^k. p is the share of trials that pass; for both functions, scores must be true, false, 1 or 0.
    """
    k: int | None = Field(default=None, ge=1, strict=True)
    """Value of k. Required for `pass@k` and `pass^k`; not allowed for other functions."""
    score_name: Title | None = None
    """Name of the result. Default: the score and the function, `is_correct.min`; with k,
    `is_correct.pass@3`, and `pass@3` unless another score has that name."""

    @property
    def short(self) -> str:
        """The function with its k, such as `pass@3`."""
        return f"{self.function[:-1]}{self.k}" if self.k is not None else self.function


class ScoreAggregator(Component):
    """The aggregation of one score over trials."""

    score_name: Title
    """Name of the score, in every scorer that has a score with this name."""
    aggregator: Aggregator
    """Aggregation of the trials' scores."""


class TrialsDefinition(Component):
    """Several trials per sample. Each trial is solved and scored separately."""

    num_trials: TrialCount
    """Number of trials. A task specification or a run may override it."""
    score_aggregators: list[ScoreAggregator] = Field(default_factory=list)
    """Scores to compute in addition to the mean over trials."""

    def with_names(self) -> list[tuple[ScoreAggregator, tuple[str, ...]]]:
        """Return each aggregator with the names of its results."""
        counts = Counter(score.aggregator.short for score in self.score_aggregators)
        return [(score, _result_names(score, counts)) for score in self.score_aggregators]


class TrialsNumber(Component):
    """A number of trials that overrides the number in the task."""

    num_trials: TrialCount
    """Number of trials per sample."""


class RepeatabilityConfig(Component):
    """Repeats a task several times."""

    num_runs: TrialCount
    """Number of runs. They do not reuse results of earlier runs."""


def _result_names(score: ScoreAggregator, counts: Counter[str]) -> tuple[str, ...]:
    aggregator = score.aggregator
    if aggregator.score_name is not None:
        return (aggregator.score_name,)
    long = f"{score.score_name}.{aggregator.short}"
    is_unique = aggregator.function in PASS_FUNCTIONS and counts[aggregator.short] == 1
    return (long, aggregator.short) if is_unique else (long,)


def score_names_over_trials(
    trials: TrialsDefinition | None, gives: Sequence[str], texts: Sequence[str] = ()
) -> list[str]:
    """Return the names of a scorer's scores over trials; scores in `texts` have no mean."""
    if trials is None:
        return list(gives)
    results = [
        name for score, names in trials.with_names() if score.score_name in gives for name in names
    ]
    means = [f"{name}.mean" for name in gives if name not in texts]
    return list(dict.fromkeys([*gives, *results, *means]))
