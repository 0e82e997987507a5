"""Rank models on the tasks that all of them completed, and compare them in pairs."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from evalwright.report.report import LeaderboardRow, PairwiseRow
from evalwright.stats.mean import mean_interval
from evalwright.stats.paired import paired_difference
from evalwright.stats.win_rate import win_rates

Key = tuple[str, str]
Completed = dict[Key, tuple[str, float]]
"""(task, sample id) → (category, score), for the samples that a model completed."""


def leaderboard(
    scores: Mapping[str, Completed], *, total: int, seed: int = 0
) -> list[LeaderboardRow]:
    """One row a model, best first; models with the same mean share a rank.

    Among those, the one that completed more comes first.
    """
    shared = _shared(scores)
    wins = win_rates({model: _on(rows, shared) for model, rows in scores.items()})
    groups = sorted({group for rows in scores.values() for group, _ in rows.values()})
    means = {model: _mean(_on(rows, shared)) for model, rows in scores.items()}
    board = []
    for model, rows in scores.items():
        interval = mean_interval(_on(rows, shared), seed=seed)
        own = [score for _, score in rows.values()]
        mean = means[model]
        board.append(
            LeaderboardRow(
                rank=_rank(mean, means),
                model=model,
                mean=mean,
                ci_low=interval.low if interval else None,
                ci_high=interval.high if interval else None,
                interval=interval.method if interval else None,
                n=len(shared),
                win_rate=wins[model],
                completed=len(rows),
                total=total,
                own_mean=_mean(own),
                own_low=math.fsum(own) / total if total else None,
                own_high=(math.fsum(own) + total - len(own)) / total if total else None,
                categories={
                    group: _mean([rows[key][1] for key in shared if rows[key][0] == group])
                    for group in groups
                },
            )
        )
    return sorted(board, key=lambda row: (row.rank is None, row.rank, -row.completed, row.model))


def pairwise(
    scores: Mapping[str, Completed], order: Sequence[str], *, seed: int = 0
) -> list[PairwiseRow]:
    """Every pair, the better one first, over the tasks that all models completed."""
    shared = _shared(scores)
    rows = []
    for a, b in combinations(order, 2):
        found = paired_difference(_on(scores[a], shared), _on(scores[b], shared), seed=seed)
        rows.append(
            PairwiseRow(
                a=a,
                b=b,
                difference=found.difference,
                ci_low=found.low,
                ci_high=found.high,
                significant=found.significant,
                n=found.n,
            )
        )
    return rows


def _shared(scores: Mapping[str, Completed]) -> list[Key]:
    keys = [set(rows) for rows in scores.values()]
    return sorted(set.intersection(*keys)) if keys else []


def _on(rows: Completed, shared: Sequence[Key]) -> list[float]:
    return [rows[key][1] for key in shared]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _rank(mean: float | None, means: Mapping[str, float | None]) -> int | None:
    if mean is None:
        return None
    return 1 + sum(other is not None and other > mean for other in means.values())
