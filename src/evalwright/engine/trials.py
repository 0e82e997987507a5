"""Combine the trials of a sample into one score, and compare several runs of a task.

    is_correct                 the mean of the trials, under the scorer's own name
    is_correct.mean            the same
    is_correct.min             an aggregator without a name: the score and the function
    is_correct.pass@3, pass@3  the same with k; the short name unless another score has it
    always_right               an aggregator with a name: that alone

A score counts if every trial has it: over fewer, rates of different samples would not be of the
same number of trials. Null or NaN in one trial makes the result null. Text is not a number, so it
has no value, and a metric that needs it reports why. With a single trial, every score stays
unchanged, including booleans and text.

A sample counts in all runs or in none: it counts if every run has its score and no rule excludes it
in any. So the metrics of two runs differ because of the answers, never because of the samples.

    metrics     one per run; their mean is the task's, and its interval is over the samples, each
                averaged over the runs: more runs of the same samples do not add samples
    agreement   per sample and score, the share of runs with the most common value
    flaky       the samples whose runs do not all agree, the worst first

Memory: nine bytes per sample, run and score that a metric reads; eight per sample and score for the
agreement; and the worst samples, a fixed number of them.
"""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from json import dumps
from typing import Any

from msgspec import Struct, field, structs

from evalwright.engine.results import FlakySample, RunAgreement, TaskFailure
from evalwright.nearest import suggest
from evalwright.plan.finalization import TrialAggregate
from evalwright.stats.agreement import score_agreement
from evalwright.stats.arrays import np
from evalwright.stats.mean import mean_interval, plain_mean
from evalwright.stats.pass_at_k import pass_at_k_of_rate, pass_hat_k
from evalwright.types import Failure

_PASSING = {"pass@k": pass_at_k_of_rate, "pass^k": pass_hat_k}
_NOT_A_NUMBER = "only numbers and booleans can be combined over trials; `{}` is neither"
MEAN = ".mean"
"""Second name of the mean of a score."""
_SHOWN = 80
_LISTED = 20
_MOST_NAMES = 200
"""Maximum number of score names; a scorer with more invents them."""


class CombinedTrials(Struct, frozen=True):
    """The combined scores of all trials of a sample."""

    values: dict[str, Any] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)
    """Scores without a value, and why."""
    broken: dict[str, Failure] = field(default_factory=dict)
    """Missing scores, and why."""
    again: set[str] = field(default_factory=set)
    """Scores that have a second name."""


def combine_trials(
    trials: Sequence[Mapping[str, Any]], aggregates: Iterable[TrialAggregate]
) -> CombinedTrials:
    """Combine the values of all trials."""
    combined = CombinedTrials()
    numbers: dict[str, list[float] | None] = {}
    names = dict.fromkeys(name for trial in trials for name in trial)
    for name in names:
        values = [trial.get(name) for trial in trials]
        if len(values) == 1:
            combined.values[name] = values[0]
        try:
            numbers[name] = _parse_numbers(values)
        except (TypeError, OverflowError):
            if len(values) > 1:
                combined.lacking[name] = _NOT_A_NUMBER.format(name)
            continue
        mean = _mean(numbers[name])
        combined.values.setdefault(name, mean)
        if f"{name}{MEAN}" not in names:
            combined.values[f"{name}{MEAN}"] = mean
            combined.again.add(f"{name}{MEAN}")
    for aggregate in aggregates:
        if aggregate.score in numbers:
            _aggregate(aggregate, numbers[aggregate.score], combined, names)
        elif aggregate.score in names:
            combined.lacking.update(
                dict.fromkeys(aggregate.names, _NOT_A_NUMBER.format(aggregate.score))
            )
    return combined


def _parse_numbers(values: Iterable[Any]) -> list[float] | None:
    """Return the values as numbers; None if one is null; TypeError for other values."""
    numbers: list[float] | None = []
    for value in values:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            numbers = None
        elif not isinstance(value, int | float):
            raise TypeError(type(value).__name__)
        elif numbers is not None:
            numbers.append(float(value))
    return numbers


def _mean(numbers: list[float] | None) -> float | None:
    return None if numbers is None else plain_mean(numbers)


def _aggregate(
    aggregate: TrialAggregate,
    numbers: list[float] | None,
    combined: CombinedTrials,
    names: Collection[str],
) -> None:
    """Add the result of one aggregator under its names, unless another score has the name."""
    free = [name for name in aggregate.names if name not in names or name == aggregate.score]
    if aggregate.names[0] not in free:
        combined.broken[aggregate.names[0]] = Failure(
            stage="score",
            type="NameTaken",
            message=f"the scorer already has a score with this name, which is kept: "
            f"`{aggregate.short}` of `{aggregate.score}` needs a different name",
            hint="set a different `score_name` for the aggregator",
        )
    value: float | None
    if numbers is None:
        value = None
    elif aggregate.function in _PASSING:
        wrong = next((number for number in numbers if number not in (0, 1)), None)
        if wrong is not None:
            reason = f"`{aggregate.score}` is {wrong:g} in a trial, and pass rates need 1 or 0"
            hint = "aggregate a score that is true or false, or use `mean`, `min` or `max`"
            failure = Failure(stage="score", type="NotPassOrFail", message=reason, hint=hint)
            combined.broken.update(dict.fromkeys(free[:1], failure))
            combined.lacking.update(dict.fromkeys(free, reason))
            return
        value = _PASSING[aggregate.function](math.fsum(numbers) / len(numbers), aggregate.k)
    elif aggregate.function == "mean":
        value = _mean(numbers)
    else:
        value = min(numbers) if aggregate.function == "min" else max(numbers)
    combined.values.update(dict.fromkeys(free, value))
    if aggregate.function == "mean":
        combined.again.update(name for name in free if name != aggregate.score)
    else:
        combined.again.difference_update(free[:1])
        combined.again.update(free[1:])
        if aggregate.score in free:  # the mean has but the one name now
            combined.again.discard(f"{aggregate.score}{MEAN}")


class TrialFailures:
    """What could not be combined, reported once per task, not per sample."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[Failure, str, int]] = {}
        self._names: dict[str, None] = {}

    def add(self, scorer: str, combined: CombinedTrials, sample_id: str) -> None:
        """Add the problems of one more sample."""
        if len(self._names) < _MOST_NAMES:
            new = (
                name for name in (*combined.values, *combined.lacking) if name not in combined.again
            )
            self._names.update(dict.fromkeys(new))
        for name, failure in combined.broken.items():
            first, example, count = self._seen.get((scorer, name), (failure, sample_id, 0))
            self._seen[scorer, name] = first, example, count + 1

    def describe(self, aggregates: Iterable[TrialAggregate] = ()) -> Iterable[TaskFailure]:
        """Return one failure per score, with the first sample and the number of samples.

        And one for each aggregated score that no sample has.
        """
        for aggregate in aggregates:
            if self._names and aggregate.score not in self._names:
                yield _missing_score_failure(aggregate, list(self._names))
        for (scorer, name), (first, example, count) in self._seen.items():
            shown = example if len(example) <= _SHOWN else f"{example[:_SHOWN]}…"
            of = f"sample `{shown}`" if count == 1 else f"{count} samples, the first is `{shown}`"
            what = f"{scorer}.{name}"
            failure = structs.replace(first, message=f"`{what}`: {first.message} ({of})")
            yield TaskFailure(stage="score", what=what, failure=failure, scorer=scorer)


def _missing_score_failure(aggregate: TrialAggregate, names: list[str]) -> TaskFailure:
    name = aggregate.names[0]
    there = ", ".join(f"`{known}`" for known in names[:_LISTED])
    failure = Failure(
        stage="score",
        type="UnknownScore",
        message=f"`{name}`: no scorer has a score `{aggregate.score}`; the scores are: {there}",
        hint=suggest(aggregate.score, names),
    )
    return TaskFailure(stage="score", what=name, failure=failure)


MOST_FLAKY = 50
"""Maximum number of flaky samples that are kept."""
_MOST_COMPARED = 100
"""Maximum number of compared scores per scorer; a scorer with more invents them."""
_MOST_VALUES = 5


class Agreements:
    """Collects the agreement of runs, sample by sample."""

    def __init__(self) -> None:
        self._shares: dict[tuple[str, str], array[float]] = {}
        self._names: Counter[str] = Counter()
        self._heap: list[tuple[float, int, FlakySample]] = []
        self.flaky = 0
        """Samples that are flaky in any score."""

    def add(
        self, ordinal: int, sample_id: str, runs: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> None:
        """Add one sample: per scorer, the values of every run."""
        worst: tuple[float, str, str, list[Any]] | None = None
        for scorer, values in runs.items():
            for name in dict.fromkeys(name for run in values for name in run):
                run_values = [run.get(name) for run in values]
                share = self._share(scorer, name, run_values)
                if share < (worst[0] if worst else 1):
                    worst = share, scorer, name, run_values
        if worst is not None:
            self.flaky += 1
            self._keep(ordinal, sample_id, *worst)

    def _keep(
        self, ordinal: int, sample_id: str, share: float, scorer: str, score: str, values: list[Any]
    ) -> None:
        place = (-share, -ordinal)
        if len(self._heap) == MOST_FLAKY and place < self._heap[0][:2]:
            return
        flaky = FlakySample(
            sample_id=sample_id,
            scorer=scorer,
            score=score,
            agreement=share,
            values=_count_values(values),
        )
        heapq.heappush(self._heap, (*place, flaky))
        if len(self._heap) > MOST_FLAKY:
            heapq.heappop(self._heap)

    def _share(self, scorer: str, name: str, values: Sequence[Any]) -> float:
        """Add the agreement on one score; names beyond the limit are ignored."""
        shares = self._shares.get((scorer, name))
        if shares is None:
            if self._names[scorer] >= _MOST_COMPARED:
                return 1.0
            self._names[scorer] += 1
            shares = self._shares[scorer, name] = array("d")
        same = [_comparable(value) for value in values]
        share = 1.0 if same.count(same[0]) == len(same) else score_agreement(same)
        shares.append(share)
        return share

    def worst(self) -> list[FlakySample]:
        """The most flaky samples first; on a tie, in their order."""
        return [entry[2] for entry in sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))]

    def compute(self, *, seed: int) -> Iterator[RunAgreement]:
        """Per score, the mean agreement of its samples."""
        for (scorer, score), shares in self._shares.items():
            values = np.frombuffer(shares, dtype=np.float64)
            yield RunAgreement(
                scorer=scorer,
                score=score,
                mean=math.fsum(values) / values.size,
                interval=mean_interval(values, seed=seed),
                n=int(values.size),
                flaky=int(np.count_nonzero(values < 1)),
            )


def average_runs(runs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the values of a sample, averaged over the runs, if they are numbers in all runs."""
    combined = combine_trials(runs, ())
    return {name: value for name, value in combined.values.items() if name not in combined.again}


def _comparable(value: Any) -> Hashable:
    """Return a form in which equal values are equal: true is 1, NaN is null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, int):
        return value
    return ("json", dumps(value, sort_keys=True, ensure_ascii=False, default=str))


def _count_values(values: Sequence[Any]) -> tuple[tuple[str, int], ...]:
    first: dict[Hashable, Any] = {}
    for value in values:
        first.setdefault(_comparable(value), value)
    counts = Counter(map(_comparable, values)).most_common(_MOST_VALUES)
    return tuple((_show(first[same]), count) for same, count in counts)


def _show(value: Any) -> str:
    """Return the text uncut: a text cut before redaction may keep half of a secret."""
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)
