"""Rank models by their scores: `ew.leaderboard.rank({"a": [1, 0, 1], "b": [1, 1, 1]})`.

    rank         one row per model, best first
    compare      one row per pair of models: the mean difference on the same samples
    to_text, to_markdown, to_json

Scores are given per model, in one of two forms. None marks a sample that the model did not
complete:

    {"a": {"s1": 1.0, "s2": None}, "b": {"s1": 0.5, "s2": 1.0}}     by sample id
    {"a": [1.0, None], "b": [0.5, 1.0]}                             in sample order

Models are ranked on the samples that all of them completed. A sample that is missing for a model
counts as not completed. A score outside [0, 1] raises `ValueError`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from evalwright.report.layout import lay_out
from evalwright.report.ranking import compare_pairs, rank_models
from evalwright.report.report import LeaderboardRow, PairwiseRow, TaskPairwiseRow
from evalwright.report.tables import Table, table_to_markdown
from evalwright.report.to_tables import ranking_tables
from evalwright.stats.arrays import Booleans, Floats, np

__all__ = ["LeaderboardRow", "PairwiseRow", "compare", "rank", "to_json", "to_markdown", "to_text"]

ModelScores = Mapping[str, float | None] | Sequence[float | None]
"""One model's scores, by sample id or in sample order."""


def rank(
    scores: Mapping[str, ModelScores],
    *,
    categories: Mapping[str, str] | Sequence[str] | None = None,
    seed: int = 0,
) -> list[LeaderboardRow]:
    """Return one row per model, best first; models with the same mean share a rank.

    `mean`, with its 95 % confidence interval, covers the samples that all models completed.
    `win_rate` is the share of samples on which the model is best; ties are split. `own_mean` covers
    all samples that the model completed, with bounds for failures scoring 0 or 1. `categories` adds
    the mean per category.

    >>> scores = {"small": [0, 1, 0, 1], "large": [1, 1, 1, None]}
    >>> for row in ew.leaderboard.rank(scores):
    ...     print(row.rank, row.model, round(row.mean, 2), f"{row.completed}/{row.total}")
    1 large 1.0 3/4
    2 small 0.33 4/4
    """
    tasks, table = _read_scores(scores)
    by_id = any(isinstance(row, Mapping) for row in scores.values())
    if by_id and categories is not None and not isinstance(categories, Mapping):
        raise ValueError("expected categories by sample id, as the scores are, got a list")
    return rank_models(table, _read_categories(categories, tasks), seed=seed)


def compare(scores: Mapping[str, ModelScores], *, seed: int = 0) -> list[TaskPairwiseRow]:
    """Return the paired difference for each pair of models, with the better model first.

    Only samples that all models completed are compared. A difference is significant if its 95 %
    confidence interval excludes zero; otherwise the two models are tied.

    >>> (row,) = ew.leaderboard.compare({"a": [0] * 8, "b": [1] * 8})
    >>> row.a, row.b, row.difference, row.significant, row.n
    ('b', 'a', 1.0, True, 8)
    """
    _, table = _read_scores(scores)
    order = [row.model for row in rank_models(table, (), seed=seed)]
    return compare_pairs(table, order, seed=seed)


def to_text(rows: Sequence[LeaderboardRow], pairs: Sequence[TaskPairwiseRow] = ()) -> str:
    """Return the leaderboard, and any paired differences, as plain text.

    >>> rows = ew.leaderboard.rank({"small": [0, 1, 0, 1], "large": [1, 1, 1, 1]})
    >>> print(ew.leaderboard.to_text(rows).splitlines()[0])
    Leaderboard
    """
    return "\n".join(line for table in _tables(rows, pairs) for line in _text_lines(table))


def to_markdown(rows: Sequence[LeaderboardRow], pairs: Sequence[TaskPairwiseRow] = ()) -> str:
    r"""Return the leaderboard, and any paired differences, as Markdown tables.

    >>> rows = ew.leaderboard.rank({"small": [0, 1, 0, 1], "large": [1, 1, 1, 1]})
    >>> print(ew.leaderboard.to_markdown(rows))
    ## Leaderboard
    <BLANKLINE>
    mean over the 4 samples that every model completed
    <BLANKLINE>
    | # | model | mean | 95 % interval | wins | completed |
    | --: | :-- | --: | --: | --: | --: |
    | 1 | large | 1.00 | \[0.51, 1.00\] | 75 % | 4/4 |
    | 2 | small | 0.50 | \[0.15, 0.85\] | 25 % | 4/4 |
    """
    return "\n\n".join(map(table_to_markdown, _tables(rows, pairs)))


def to_json(rows: Sequence[LeaderboardRow], pairs: Sequence[TaskPairwiseRow] = ()) -> str:
    """Return the rows as JSON, as in a report: `{"leaderboard": […], "pairwise": […]}`.

    >>> text = ew.leaderboard.to_json(ew.leaderboard.rank({"a": [1, 0]}))
    >>> import json
    >>> json.loads(text)["leaderboard"][0]["mean"]
    0.5
    """
    _require_rows(rows)
    return msgspec.json.encode({"leaderboard": list(rows), "pairwise": list(pairs)}).decode()


def _require_rows(rows: Sequence[LeaderboardRow]) -> None:
    if not rows:
        raise ValueError("expected at least 1 leaderboard row, got none: `rows` is empty")


def _tables(rows: Sequence[LeaderboardRow], pairs: Sequence[TaskPairwiseRow]) -> list[Table]:
    _require_rows(rows)
    return [table for table in ranking_tables(rows, pairs) if table.rows]


def _text_lines(table: Table) -> Iterator[str]:
    yield table.title
    yield from (line.rstrip() for line in lay_out(table, None))
    yield from (f" {note.strip()}" for note in table.note.splitlines())
    yield ""


def _read_scores(scores: Mapping[str, ModelScores]) -> tuple[list[str], dict[str, Floats]]:
    """Return the names of the tasks, and one array per model with NaN for None."""
    if not scores:
        raise ValueError("expected the scores of at least 1 model, got none: `scores` is empty")
    by_task = {model: _name_tasks(model, row) for model, row in scores.items()}
    forms = {isinstance(row, Mapping) for row in scores.values()}
    lengths = {model: len(row) for model, row in scores.items()}
    if len(forms) > 1:
        raise ValueError("expected scores by sample id for all models or for none, got both")
    if forms == {False} and len(set(lengths.values())) > 1:
        raise ValueError(f"expected one score per sample for every model, got {lengths}")
    tasks = list(dict.fromkeys(task for row in by_task.values() for task in row))
    if not tasks:
        raise ValueError("expected at least 1 sample, got none: all lists of scores are empty")
    return tasks, {
        model: np.array([row.get(task, math.nan) for task in tasks], dtype=np.float64)
        for model, row in by_task.items()
    }


def _name_tasks(model: str, row: ModelScores) -> dict[str, float]:
    pairs = row.items() if isinstance(row, Mapping) else enumerate(row)
    return {
        str(task): math.nan if score is None else _check_score(score, model, task)
        for task, score in pairs
    }


def _check_score(score: Any, model: str, task: object) -> float:
    if isinstance(score, str) or not 0 <= score <= 1:
        raise ValueError(
            f"expected a score in [0, 1], or None for a sample that was not completed, got "
            f"`{score}` - at `scores[{model!r}][{task!r}]`"
        )
    return float(score)


def _read_categories(
    categories: Mapping[str, str] | Sequence[str] | None, tasks: Sequence[str]
) -> list[tuple[str, Booleans]]:
    """Return the name of each category, and which tasks belong to it."""
    if categories is None:
        return []
    if not isinstance(categories, Mapping):
        if len(categories) != len(tasks):
            raise ValueError(
                f"expected one category per sample, got {len(categories)} and {len(tasks)}"
            )
        categories = dict(zip(tasks, categories, strict=True))
    for task in tasks:
        if task not in categories:
            raise ValueError(f"expected a category for every sample, got none for `{task}`")
    names = list(dict.fromkeys(categories[task] for task in tasks))
    return [(name, np.array([categories[task] == name for task in tasks])) for name in names]
