"""Find values that occur only once. Hyphens in an ISBN are ignored."""

from collections import Counter
from typing import Any


def compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry per row, in order: the score, and how often the value occurs."""
    values = [str(sample["<< config.field >>"]).replace("-", "") for sample in samples]
    times = Counter(values)
    return [
        {"scores": {"is_unique": times[value] == 1}, "metadata": {"times": times[value]}}
        for value in values
    ]
