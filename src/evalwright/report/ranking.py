"""Rank models on the samples that all of them completed, and compare them in pairs.

Scores come as one array per model, one place per sample; NaN where the model did not complete it.
Where models are ranked task by task, whatever ran on the same samples is ranked together: the
models of a task, and the specifications of one task that have the same samples.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from evalwright.plan.outline import PrimaryMetric, TaskOutline
from evalwright.report.report import LeaderboardRow, TaskPairwiseRow, interval_fields
from evalwright.stats.arrays import Floats
from evalwright.stats.interval import UNBOUNDED, Bounds
from evalwright.stats.mean import average, plain_mean
from evalwright.stats.paired import compare_all, win_rates

Members = NDArray[np.bool_]


class Contestant(NamedTuple):
    """One task specification with one model."""

    label: str
    task: str
    model: str


class RankedTask(Struct, frozen=True, kw_only=True):
    """A task, and all that ran on its samples."""

    name: str
    """The key of the task where several specifications of it are compared, else the task's name."""
    primary: PrimaryMetric
    records: int
    contestants: tuple[Contestant, ...]
    bounds: Bounds = UNBOUNDED
    """The range of the score that they are ranked by."""


def find_ranked_tasks(tasks: Iterable[TaskOutline]) -> list[RankedTask]:
    """Return the tasks that have two or more contestants, in their order."""
    groups: dict[tuple[object, ...], tuple[PrimaryMetric, list[TaskOutline]]] = {}
    for task in tasks:
        if task.primary is not None:
            shared = task.samples_digest and task.task_key
            key = (task.task_key, task.samples_digest, task.primary) if shared else (task.name,)
            groups.setdefault(key, (task.primary, []))[1].append(task)
    several = [group for group in groups.values() if sum(len(task.models) for task in group[1]) > 1]
    keys = Counter(group[0].task_key for _, group in several if len(group) > 1)
    ranked = []
    for primary, group in several:
        name = ", ".join(task.name for task in group)
        if len(group) > 1 and keys[group[0].task_key] == 1:
            name = group[0].task_key
        contestants = tuple(_label_contestants(group))
        records = group[0].records
        ranked.append(
            RankedTask(name=name, primary=primary, records=records, contestants=contestants)
        )
    return ranked


def _label_contestants(tasks: Sequence[TaskOutline]) -> Iterable[Contestant]:
    models = Counter(model for task in tasks for model in task.models)
    is_ambiguous = any(count > 1 for model, count in models.items() if model)
    are_variants = len({task.specification for task in tasks}) == 1 and bool(tasks[0].variant)
    for task in tasks:
        name = task.variant if are_variants else task.name
        for model in task.models:
            label = f"{name} ({model})" if is_ambiguous else model
            yield Contestant(label if model else name, task.name, model)


def rank_models(
    scores: Mapping[str, Floats],
    categories: Iterable[tuple[str, Members]],
    *,
    excluded: Mapping[str, int] | None = None,
    seed: int = 0,
    ranked: RankedTask | None = None,
    has_intervals: bool = True,
) -> list[LeaderboardRow]:
    """Return one row per model, best first; models with the same mean share a rank.

    `excluded` says how many samples of a model do not count; they have no score.
    """
    shared = _find_shared_samples(scores)
    members = list(categories)
    bounds = ranked.bounds if ranked else UNBOUNDED
    wins = win_rates({model: row[shared] for model, row in scores.items()})
    means = {model: average(row[shared], seed=seed, bounds=bounds) for model, row in scores.items()}
    is_unit = not any(((row < 0) | (row > 1)).any() for row in scores.values())
    board = []
    for model, row in scores.items():
        mean, own = means[model].mean, row[~np.isnan(row)]
        interval = means[model].interval if has_intervals else None
        total = len(row) - (excluded or {}).get(model, 0)
        own_mean = own_low = own_high = plain_mean(own.tolist())
        if len(own) < total and is_unit:
            own_low = math.fsum(own) / total
            own_high = (math.fsum(own) + total - len(own)) / total
        elif not (total and is_unit):
            own_low = own_high = None
        board.append(
            LeaderboardRow(
                rank=_rank(mean, [other.mean for other in means.values()]),
                model=model,
                mean=mean,
                **interval_fields(interval),
                n=int(shared.sum()),
                win_rate=wins[model],
                completed=len(own),
                total=total,
                own_mean=own_mean,
                own_low=own_low,
                own_high=own_high,
                categories={
                    name: plain_mean(row[shared & inside].tolist()) for name, inside in members
                },
                task=ranked.name if ranked else "",
                metric=ranked.primary.metric if ranked else "",
            )
        )
    return sorted(board, key=lambda row: (row.rank is None, row.rank, -row.completed, row.model))


def compare_pairs(
    scores: Mapping[str, Floats],
    order: Sequence[str],
    *,
    seed: int = 0,
    ranked: RankedTask | None = None,
    has_intervals: bool = True,
) -> list[TaskPairwiseRow]:
    """Compare every pair, the better one first, over the samples that all models completed."""
    shared = _find_shared_samples(scores)
    rows = []
    differences = compare_all([scores[model][shared] for model in order], seed=seed)
    for (a, b), paired in zip(combinations(order, 2), differences, strict=True):
        rows.append(
            TaskPairwiseRow(
                a=a,
                b=b,
                difference=paired.difference,
                ci_low=paired.low if has_intervals else None,
                ci_high=paired.high if has_intervals else None,
                significant=paired.significant and has_intervals,
                n=paired.n,
                task=ranked.name if ranked else "",
                metric=ranked.primary.metric if ranked else "",
            )
        )
    return rows


def _find_shared_samples(scores: Mapping[str, Floats]) -> Members:
    rows = np.vstack(list(scores.values()))
    return np.asarray(~np.isnan(rows).any(axis=0))


def _rank(mean: float | None, means: Sequence[float | None]) -> int | None:
    if mean is None:
        return None
    return 1 + sum(other is not None and other > mean for other in means)
