"""Find values that occur only once. Missing values do not count as duplicates."""

from collections import Counter
from typing import Any

FIELD = "<< config.field >>"


def compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry per sample, in the same order."""
    times = Counter(sample.get(FIELD) for sample in samples)
    return [
        {"is_unique": sample.get(FIELD) is None or times[sample.get(FIELD)] == 1}
        for sample in samples
    ]
