"""Rank models on the tasks that all of them completed, and compare them in pairs.

Scores come as one array a model, a place a record; NaN where the model did not complete it.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evalwright.report.report import LeaderboardRow, PairwiseRow
from evalwright.stats.mean import mean_interval
from evalwright.stats.paired import paired_difference
from evalwright.stats.win_rate import win_rates

Floats = NDArray[np.float64]
Members = NDArray[np.bool_]


def leaderboard(
    scores: Mapping[str, Floats], categories: Iterable[tuple[str, Members]], *, seed: int = 0
) -> list[LeaderboardRow]:
    """One row a model, best first; models with the same mean share a rank.

    Among those, the one that completed more comes first.
    """
    shared = _shared(scores)
    members = list(categories)
    wins = win_rates({model: row[shared].tolist() for model, row in scores.items()})
    means = {model: _mean(row[shared]) for model, row in scores.items()}
    board = []
    for model, row in scores.items():
        interval = mean_interval(row[shared], seed=seed)
        own, total, mean = row[~np.isnan(row)], len(row), means[model]
        board.append(
            LeaderboardRow(
                rank=_rank(mean, means),
                model=model,
                mean=mean,
                ci_low=interval.low if interval else None,
                ci_high=interval.high if interval else None,
                interval=interval.method if interval else None,
                n=int(shared.sum()),
                win_rate=wins[model],
                completed=len(own),
                total=total,
                own_mean=_mean(own),
                own_low=float(own.sum()) / total if total else None,
                own_high=(float(own.sum()) + total - len(own)) / total if total else None,
                categories={name: _mean(row[shared & inside]) for name, inside in members},
            )
        )
    return sorted(board, key=lambda row: (row.rank is None, row.rank, -row.completed, row.model))


def pairwise(
    scores: Mapping[str, Floats], order: Sequence[str], *, seed: int = 0
) -> list[PairwiseRow]:
    """Every pair, the better one first, over the tasks that all models completed."""
    shared = _shared(scores)
    rows = []
    for a, b in combinations(order, 2):
        found = paired_difference(scores[a][shared], scores[b][shared], seed=seed)
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


def _shared(scores: Mapping[str, Floats]) -> Members:
    """Which records all models completed."""
    rows = np.vstack(list(scores.values()))
    return np.asarray(~np.isnan(rows).any(axis=0))


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _rank(mean: float | None, means: Mapping[str, float | None]) -> int | None:
    if mean is None:
        return None
    return 1 + sum(other is not None and other > mean for other in means.values())
