"""Which values stand only once. Hyphens make no difference in an ISBN."""

from collections import Counter
from typing import Any


def compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry a row, in their order; beside the score, how often the value is there."""
    values = [str(sample["<< config.field >>"]).replace("-", "") for sample in samples]
    times = Counter(values)
    return [
        {"scores": {"is_unique": times[value] == 1}, "metadata": {"times": times[value]}}
        for value in values
    ]
