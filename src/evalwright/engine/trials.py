"""Several trials of a sample become one score of it.

    is_correct                 the mean of the trials, under the name that the scorer gives
    is_correct.mean            the same
    is_correct.min             an aggregator without a name of its own: the score and the function
    is_correct.pass@3, pass@3  the same with k; the short name where no other score has it
    always_right               an aggregator with a name: that alone

A score counts if every trial has it: over fewer, rates of different samples would not be of the
same number of tries. Null and NaN in one trial make the whole null. A text is no number, so there
is nothing of it, and a metric that wants it is told why. Of a single trial, every score stays
what it is, a truth value or a text too.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field, structs

from evalwright.engine.finishing import Aggregate, Broken
from evalwright.nearest import nearest
from evalwright.stats.pass_at_k import pass_at_k_of_rate, pass_hat_k
from evalwright.stats.plain_mean import plain_mean
from evalwright.types import Failure

_PASSING = {"pass@k": pass_at_k_of_rate, "pass^k": pass_hat_k}
_NOT_A_NUMBER = "only numbers and truth values are brought together over trials, `{}` is neither"
MEAN = ".mean"
"""What the mean of a score is called beside its own name."""
_SHOWN = 80
_LISTED = 20
_MOST_NAMES = 200
"""Names of scores that are remembered; what gives more makes them up."""


class Together(Struct, frozen=True):
    """The scores of all trials of a sample, as one."""

    values: dict[str, Any] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)
    """What there is nothing of, and why."""
    broken: dict[str, Failure] = field(default_factory=dict)
    """What should have been there, and why it is not."""
    again: set[str] = field(default_factory=set)
    """Names of what has another name, too."""


def together(trials: Sequence[Mapping[str, Any]], aggregates: Iterable[Aggregate]) -> Together:
    """One set of values from those of every trial."""
    made = Together()
    numbers: dict[str, list[float] | None] = {}
    names = dict.fromkeys(name for values in trials for name in values)
    for name in names:
        found = [values.get(name) for values in trials]
        if len(found) == 1:
            made.values[name] = found[0]
        try:
            numbers[name] = _numbers(found)
        except (TypeError, OverflowError):
            if len(found) > 1:
                made.lacking[name] = _NOT_A_NUMBER.format(name)
            continue
        mean = _mean(numbers[name])
        made.values.setdefault(name, mean)
        if f"{name}{MEAN}" not in names:
            made.values[f"{name}{MEAN}"] = mean
            made.again.add(f"{name}{MEAN}")
    for one in aggregates:
        if one.score in numbers:
            _aggregate(one, numbers[one.score], made, names)
        elif one.score in names:
            made.lacking.update(dict.fromkeys(one.names, _NOT_A_NUMBER.format(one.score)))
    return made


def _numbers(found: Iterable[Any]) -> list[float] | None:
    """The values as numbers; None if one of them is none; TypeError if one is something else."""
    numbers: list[float] | None = []
    for one in found:
        if one is None or (isinstance(one, float) and math.isnan(one)):
            numbers = None
        elif not isinstance(one, int | float):
            raise TypeError(type(one).__name__)
        elif numbers is not None:
            numbers.append(float(one))
    return numbers


def _mean(numbers: list[float] | None) -> float | None:
    return None if numbers is None else plain_mean(numbers)


def _aggregate(
    one: Aggregate, numbers: list[float] | None, made: Together, names: Collection[str]
) -> None:
    """The result of one aggregator, under its names; that of another score is not its to take."""
    free = [name for name in one.names if name not in names or name == one.score]
    if one.names[0] not in free:
        made.broken[one.names[0]] = Failure(
            stage="score",
            type="NameTaken",
            message=f"the scorer gives a score of this name itself, which stays: "
            f"`{one.short}` of `{one.score}` cannot be called so",
            hint="give the aggregator another `score_name`",
        )
    value: float | None
    if numbers is None:
        value = None
    elif one.function in _PASSING:
        wrong = next((number for number in numbers if number not in (0, 1)), None)
        if wrong is not None:
            reason = (
                f"`{one.score}` is {wrong:g} in a trial: pass rates are of scores that are 1 or 0"
            )
            hint = "aggregate a score that is true or false, or take `mean`, `min` or `max`"
            failure = Failure(stage="score", type="NotPassOrFail", message=reason, hint=hint)
            made.broken.update(dict.fromkeys(free[:1], failure))
            made.lacking.update(dict.fromkeys(free, reason))
            return
        value = _PASSING[one.function](math.fsum(numbers) / len(numbers), one.k)
    elif one.function == "mean":
        value = _mean(numbers)
    else:
        value = min(numbers) if one.function == "min" else max(numbers)
    made.values.update(dict.fromkeys(free, value))
    if one.function == "mean":
        made.again.update(name for name in free if name != one.score)
    else:
        made.again.difference_update(free[:1])
        made.again.update(free[1:])
        if one.score in free:  # the mean has but the one name now
            made.again.discard(f"{one.score}{MEAN}")


class Breakages:
    """What could not be brought together, told once for the task and not for every sample."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[Failure, str, int]] = {}
        self._names: dict[str, None] = {}

    def add(self, scorer: str, made: Together, sample_id: str) -> None:
        """Of one more sample."""
        if len(self._names) < _MOST_NAMES:
            given = (name for name in (*made.values, *made.lacking) if name not in made.again)
            self._names.update(dict.fromkeys(given))
        for name, failure in made.broken.items():
            first, example, count = self._seen.get((scorer, name), (failure, sample_id, 0))
            self._seen[scorer, name] = first, example, count + 1

    def told(self, aggregates: Iterable[Aggregate] = ()) -> Iterable[Broken]:
        """One for each score, with the first sample and how many there are.

        And one for each score that is aggregated, and that no scorer gave to any sample.
        """
        for one in aggregates:
            if self._names and one.score not in self._names:
                yield _never_given(one, list(self._names))
        for (scorer, name), (first, example, count) in self._seen.items():
            shown = example if len(example) <= _SHOWN else f"{example[:_SHOWN]}…"
            of = f"sample `{shown}`" if count == 1 else f"{count} samples, the first is `{shown}`"
            what = f"{scorer}.{name}"
            failure = structs.replace(first, message=f"`{what}`: {first.message} ({of})")
            yield Broken(stage="score", what=what, failure=failure, scorer=scorer)


def _never_given(one: Aggregate, names: list[str]) -> Broken:
    close = nearest(one.score, names)
    there = ", ".join(f"`{name}`" for name in names[:_LISTED])
    failure = Failure(
        stage="score",
        type="UnknownScore",
        message=f"`{one.names[0]}`: no scorer gave a score `{one.score}`; there are: {there}",
        hint=f"did you mean `{close}`?" if close else "",
    )
    return Broken(stage="score", what=one.names[0], failure=failure)
