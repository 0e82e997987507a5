"""What moved between a run and its parent: the run whose outputs it has scored again.

Outcomes are paired by task, model, sample id and trial. The scores of a scorer went up if at least
one of its numbers rose and none fell, down if it is the other way round; any other change counts as
`mixed`. A value that only one of the two runs has is new or missing, and is not a change.

Both runs are read once, side by side, so memory does not grow with them. It grows with the distance
between the places that a sample has in the two runs, which is 0 unless samples were added, deleted
or reordered.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from evalwright.types import Outcome, without_self_report

if TYPE_CHECKING:  # a report has what moved
    from evalwright.report.report import MetricRow

_SHOWN_SAMPLES = 5
_EQUAL_WITHIN = 1e-12


class MovedMetric(Struct, frozen=True, kw_only=True):
    """One metric before and after, and what became of the samples of its scorer."""

    task: str
    model: str
    scorer: str
    metric: str
    group: str | None = None
    """The group of samples; None for all samples."""
    before: float | None
    """None where the parent has no such value: then the metric is new."""
    after: float | None
    difference: float | None
    up: int = 0
    """Samples whose scores of this scorer rose, trials counted one by one; so are all counts."""
    down: int = 0
    mixed: int = 0
    """Samples whose scores changed in no single direction: labels, or some up and others down."""
    unmatched: int = 0
    """Samples of the task and model that only one of the two runs has."""
    recovered: int = 0
    """Samples that failed in the parent and not in this run."""
    newly_failed: int = 0
    """Samples that failed in this run and not in the parent."""

    @property
    def has_difference(self) -> bool:
        """Whether the value or any count says that something has changed."""
        is_same = (
            math.isclose(self.before, self.after, rel_tol=_EQUAL_WITHIN, abs_tol=_EQUAL_WITHIN)
            if self.before is not None and self.after is not None
            else self.before is self.after
        )
        counts = (self.up, self.down, self.mixed, self.unmatched, self.recovered, self.newly_failed)
        return not is_same or any(counts)


class ChangedSample(Struct, frozen=True, kw_only=True):
    """A sample whose score changed."""

    task: str
    model: str
    sample_id: str
    trial: int
    scorer: str
    before: dict[str, Any]
    """The values that changed."""
    after: dict[str, Any]


class MovedScores(Struct, frozen=True, kw_only=True):
    """What moved against the parent run."""

    parent: str
    reason: str = ""
    """Why nothing can be said; otherwise empty."""
    metrics: list[MovedMetric] = []
    """Every metric of the two runs, whether it moved or not."""
    samples: list[ChangedSample] = []
    """The first samples whose scores changed, at most five."""
    changed: int = 0
    """Samples with at least one changed score, trials counted one by one."""

    @property
    def has_same_scores(self) -> bool:
        """Whether both runs were compared and nothing is different."""
        return not (self.reason or self.changed or any(row.has_difference for row in self.metrics))


class OutcomePair(NamedTuple):
    """The outcomes of one sample and trial in two runs; None where a run has none."""

    before: Outcome | None
    after: Outcome | None


def pair_outcomes(before: Iterable[Outcome], after: Iterable[Outcome]) -> Iterator[OutcomePair]:
    """Yield the outcomes of two runs in pairs; last, those that have no partner."""
    waiting: tuple[_Waiting, _Waiting] = ({}, {})
    for outcomes in zip_longest(before, after):
        for side, outcome in enumerate(outcomes):
            if outcome is None:
                continue
            key = outcome.task, outcome.model, outcome.sample_id, outcome.trial
            partners = waiting[1 - side].get(key)
            if partners:
                partner = partners.pop(0)
                if not partners:
                    del waiting[1 - side][key]
                yield OutcomePair(partner, outcome) if side else OutcomePair(outcome, partner)
            else:
                waiting[side].setdefault(key, []).append(outcome)
    yield from (OutcomePair(each, None) for several in waiting[0].values() for each in several)
    yield from (OutcomePair(None, each) for several in waiting[1].values() for each in several)


_Waiting = dict[tuple[str, str, str, int], list[Outcome]]


def has_other_scores(pair: OutcomePair) -> bool:
    """Whether a scorer gave other values than before."""
    return next(_find_changes(pair), None) is not None


def compare_with_parent(
    parent: str,
    metrics: tuple[Sequence["MetricRow"], Sequence["MetricRow"]],
    pairs: Iterable[OutcomePair],
) -> MovedScores:
    """Compare the metrics of the parent and of the run, and their outcomes pair by pair."""
    counts: dict[tuple[str, str], _TaskCounts] = {}
    samples: list[ChangedSample] = []
    changed = 0
    for pair in pairs:
        outcome = pair.after or pair.before
        if outcome is None:
            continue
        task_counts = counts.setdefault((outcome.task, outcome.model), _TaskCounts())
        changes = task_counts.add(pair)
        changed += bool(changes)
        if len(samples) < _SHOWN_SAMPLES:
            samples += changes[: _SHOWN_SAMPLES - len(samples)]
    rows = [{_metric_key(row): row.value for row in side} for side in metrics]
    return MovedScores(
        parent=parent,
        metrics=[
            _compare_metric(key, rows[0].get(key), rows[1].get(key), counts)
            for key in dict.fromkeys([*rows[1], *rows[0]])
        ],
        samples=samples,
        changed=changed,
    )


class _TaskCounts(Struct):
    """What became of the samples of one task and model."""

    unmatched: int = 0
    recovered: int = 0
    newly_failed: int = 0
    directions: dict[str, dict[str, int]] = field(default_factory=dict)
    """By scorer."""

    def add(self, pair: OutcomePair) -> list[ChangedSample]:
        """Count a pair; return its scores that changed."""
        before, after = pair
        if before is None or after is None:
            self.unmatched += 1
            return []
        self.recovered += before.failure is not None and after.failure is None
        self.newly_failed += before.failure is None and after.failure is not None
        changes = list(_find_changes(pair))
        for change in changes:
            counts = self.directions.setdefault(change.scorer, {"up": 0, "down": 0, "mixed": 0})
            counts[_direction(change)] += 1
        return changes


def _find_changes(pair: OutcomePair) -> Iterator[ChangedSample]:
    before, after = pair
    if before is None or after is None:
        return
    was, now = _values_by_scorer(before), _values_by_scorer(after)
    for scorer, values in now.items():
        old = was.get(scorer)
        if old is None or old == values:
            continue
        names = [name for name in values if name in old and not _is_same(old[name], values[name])]
        if names:
            yield ChangedSample(
                task=after.task,
                model=after.model,
                sample_id=after.sample_id,
                trial=after.trial,
                scorer=scorer,
                before={name: old[name] for name in names},
                after={name: values[name] for name in names},
            )


def _values_by_scorer(outcome: Outcome) -> Mapping[str, Mapping[str, Any]]:
    """Return the values of each scorer; those of a part have its number before their names."""
    values = {name: score.values for name, score in without_self_report(outcome.scores).items()}
    for number, part in enumerate(outcome.parts):
        for name, score in part.scores.items():
            own = {f"{number}.{value_name}": value for value_name, value in score.values.items()}
            values[name] = {**values.get(name, {}), **own}
    return values


def _is_same(before: Any, after: Any) -> bool:
    both_undefined = before != before and after != after  # noqa: PLR0124 - NaN differs from itself
    return bool(before == after) or both_undefined


def _direction(change: ChangedSample) -> str:
    pairs = [(change.before[name], change.after[name]) for name in change.before]
    if all(isinstance(value, int | float) for pair in pairs for value in pair):
        if all(after > before for before, after in pairs):
            return "up"
        if all(after < before for before, after in pairs):
            return "down"
    return "mixed"


_MetricKey = tuple[str, str, str, str, str | None]


def _metric_key(row: "MetricRow") -> _MetricKey:
    return row.task, row.model, row.scorer, row.metric, row.group


def _compare_metric(
    key: _MetricKey,
    before: float | None,
    after: float | None,
    counts: Mapping[tuple[str, str], _TaskCounts],
) -> MovedMetric:
    task, model, scorer, metric, group = key
    # The counts are of all samples, so they say nothing about one group.
    task_counts = counts.get((task, model)) if group is None else None
    task_counts = task_counts or _TaskCounts()
    return MovedMetric(
        task=task,
        model=model,
        scorer=scorer,
        metric=metric,
        group=group,
        before=before,
        after=after,
        difference=None if before is None or after is None else after - before,
        unmatched=task_counts.unmatched,
        recovered=task_counts.recovered,
        newly_failed=task_counts.newly_failed,
        **task_counts.directions.get(scorer, {}),
    )
