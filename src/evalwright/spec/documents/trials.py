"""How often a sample is tried, and how its trials become one score.

    trials:
      num_trials: 5
      score_aggregators:
        - score_name: is_correct
          aggregator: { function: pass^k, k: 3 }      # is_correct.pass^3, and pass^3
        - score_name: is_correct
          aggregator: { function: min, score_name: always_right }

What is a number or a truth value is averaged under its own name, and as `is_correct.mean`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from evalwright.components import Component, Title
from evalwright.spec.documents.faults import Fault, did_you_mean, listed
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.values import is_stand_in
from evalwright.vocabulary import MAX_SAMPLES

Function = Literal["mean", "min", "max", "pass@k", "pass^k"]
Several = Annotated[int, Field(ge=2, le=MAX_SAMPLES, strict=True)]
PASSING = ("pass@k", "pass^k")
_PATH: Path = ("definition", "trials")


class Aggregator(Component):
    """Scores of several trials to one."""

    function: Function
    """`mean`, `min`, `max`; `pass@k`: the chance that one of k trials passes, 1 - (1 - p)^k;
    `pass^k`: that all do, p^k. p is the share of trials that pass: the score must be true or false,
    or 1 or 0."""

    k: int | None = Field(default=None, ge=1, strict=True)
    """Of `pass@k` and `pass^k`, which need it; no other function has it."""

    score_name: Title | None = None
    """What the result is called. Without it: the score and the function, `is_correct.min`; with k,
    `is_correct.pass@3`, and `pass@3` where no other score has that."""

    @property
    def short(self) -> str:
        """The function with its k."""
        return f"{self.function[:-1]}{self.k}" if self.k is not None else self.function


class ScoreAggregator(Component):
    """What is done with one score."""

    score_name: Title
    """The score, by the name that a scorer gives it; of every scorer that has such a one."""

    aggregator: Aggregator
    """How its trials become one."""


class TrialsDefinition(Component):
    """Several trials of each sample: solved and scored anew each time."""

    num_trials: Several
    """How many. A task specification or a run may say another number."""

    score_aggregators: list[ScoreAggregator] = Field(default_factory=list)
    """What becomes of the scores, beside their means."""

    def named(self) -> list[tuple[ScoreAggregator, tuple[str, ...]]]:
        """Each aggregator with the names of its result."""
        short = Counter(one.aggregator.short for one in self.score_aggregators)
        return [(one, _names(one, short)) for one in self.score_aggregators]


class TrialsNumber(Component):
    """Another number of trials than the task says."""

    num_trials: Several
    """How many times each sample is tried."""


class RepeatabilityConfig(Component):
    """The same task, run several times."""

    num_runs: Several
    """How many times. Nothing of an earlier run is used for it."""


def _names(one: ScoreAggregator, short: Counter[str]) -> tuple[str, ...]:
    aggregator = one.aggregator
    if aggregator.score_name is not None:
        return (aggregator.score_name,)
    long = f"{one.score_name}.{aggregator.short}"
    alone = aggregator.function in PASSING and short[aggregator.short] == 1
    return (long, aggregator.short) if alone else (long,)


def trials_rules(definition: dict[str, Any]) -> Iterator[Fault]:
    """What must hold within the trials of a task, and between them and its solver."""
    trials = definition.get("trials")
    if not isinstance(trials, dict):
        return
    solver = definition.get("solver")
    if isinstance(solver, dict) and solver.get("postprocessor") is not None:
        yield Fault(
            _PATH,
            "conflict",
            "a postprocessor makes several samples of one, so trials cannot be put side by side",
            "remove `trials`, or the `postprocessor` of the solver",
            at_key=True,
        )
    listed_ = trials.get("score_aggregators")
    taken: dict[str, int] = {}
    for number, one in enumerate(listed_ if isinstance(listed_, list) else []):
        aggregator = one.get("aggregator") if isinstance(one, dict) else None
        if isinstance(aggregator, dict):
            path = (*_PATH, "score_aggregators", number, "aggregator")
            yield from _k(aggregator, path)
            yield from _twice(aggregator, path, taken)


def _k(aggregator: dict[str, Any], path: Path) -> Iterator[Fault]:
    function, k = aggregator.get("function"), aggregator.get("k")
    if function in PASSING and k is None:
        if not any(did_you_mean(str(key), ["k"]) for key in aggregator if key != "k"):
            detail = f"`k` is missing; `{function}` is about k trials"
            yield Fault((*path, "k"), "missing_key", detail, "such as `k: 3`")
    elif function in ("mean", "min", "max") and k is not None:
        detail = f"`{function}` is over all trials: it takes no `k`"
        yield Fault((*path, "k"), "conflict", detail, "remove it", at_key=True)


def _twice(aggregator: dict[str, Any], path: Path, taken: dict[str, int]) -> Iterator[Fault]:
    name, number = aggregator.get("score_name"), path[-2]
    if not isinstance(name, str) or not isinstance(number, int):
        return
    if taken.setdefault(name, number) != number:
        detail = f"the name `{name}` is taken by aggregator {taken[name] + 1} of this list"
        yield Fault((*path, "score_name"), "duplicate_key", detail)


def wrong_aggregators(trials: TrialsDefinition | None, scorers: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every score that no scorer gives, and for every name that a scorer gives."""
    if trials is None:
        return
    for number, one in enumerate(trials.score_aggregators):
        name, path = one.aggregator.score_name, (*_PATH, "score_aggregators", number)
        for scorer in scorers:
            gives = scorer.gives or ()
            if name in gives and one.score_name in gives and name != one.score_name:
                detail = f"`{scorer.type}` gives a score `{name}` itself"
                hint = "give the result another name"
                yield Fault((*path, "aggregator", "score_name"), "duplicate_key", detail, hint)
    if all(one.gives is not None for one in scorers):
        yield from _unknown(trials, scorers)


def _unknown(trials: TrialsDefinition, scorers: Sequence[Any]) -> Iterator[Fault]:
    gives = list(dict.fromkeys(name for one in scorers for name in one.gives))
    for number, one in enumerate(trials.score_aggregators):
        name = one.score_name
        if name in gives or is_stand_in(name):
            continue
        there = f"they give {listed(gives)}" if gives else "there are no scorers"
        yield Fault(
            (*_PATH, "score_aggregators", number, "score_name"),
            "unknown_score",
            f"no scorer gives a score `{name}`; {there}",
            did_you_mean(name, gives),
        )


def names_after(
    trials: TrialsDefinition | None, gives: Sequence[str], texts: Sequence[str] = ()
) -> list[str]:
    """The names under which metrics find the scores that a scorer gives; `texts` have no mean."""
    if trials is None:
        return list(gives)
    made = [name for one, names in trials.named() if one.score_name in gives for name in names]
    means = [f"{name}.mean" for name in gives if name not in texts]
    return list(dict.fromkeys([*gives, *made, *means]))
