"""Which values are there only once; an empty one is no duplicate of another."""

from collections import Counter
from typing import Any

FIELD = "<< config.field >>"


def compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry a sample, in their order."""
    times = Counter(sample.get(FIELD) for sample in samples)
    return [
        {"is_unique": sample.get(FIELD) is None or times[sample.get(FIELD)] == 1}
        for sample in samples
    ]
