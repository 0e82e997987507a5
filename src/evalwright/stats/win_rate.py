"""How often a model is the best one."""

import math
from collections.abc import Mapping, Sequence


def win_rates(scores: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """Return the share of tasks on which each model is best; ties are split equally.

        rate(m) = 1/T · Σ over tasks of [m is best] / (number of models that are best)

    `scores` has one list a model, in the same order of tasks; None where a model did not
    complete the task. Only tasks that all completed count, so that the rates sum to 1 and a
    failure is no defeat. With no such task the rates are None. Scores tie when equal.
    With two models a tie is half a win, as a draw is in Elo (1978), The Rating of Chessplayers.
    HELM's mean win rate (Liang et al. 2023, TMLR) is another number: it compares pairs.
    """
    lengths = {model: len(row) for model, row in scores.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"expected one score a task for every model, got {lengths}")
    shares: dict[str, list[float]] = {model: [] for model in scores}
    for task in zip(*scores.values(), strict=True):
        completed = [score for score in task if score is not None]
        if any(math.isnan(score) for score in completed):
            raise ValueError(f"expected a score or None, got NaN among {task}")
        if len(completed) < len(task):
            continue
        best = max(completed)
        for model, score in zip(scores, completed, strict=True):
            shares[model].append((score == best) / completed.count(best))
    return {model: math.fsum(won) / len(won) if won else None for model, won in shares.items()}
