"""A metric in Python: a median, and the share of slow predictions."""

from statistics import median
from typing import Any


def compute_metrics(scores: list[Any]) -> dict[str, float]:
    """Each score has `values` and `metadata`."""
    seconds = [score.values["seconds"] for score in scores]
    slow = sum(one > 1 for one in seconds) / len(seconds)
    return {"median_seconds": median(seconds), "slow": slow}
