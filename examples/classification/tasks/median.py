"""Compute two metrics in Python: a median, and the share of slow predictions."""

from statistics import median
from typing import Any


def compute_metrics(scores: list[Any]) -> dict[str, float]:
    """Return the metrics by name. Each score has `values` and `metadata`."""
    seconds = [score.values["seconds"] for score in scores]
    slow = sum(duration > 1 for duration in seconds) / len(seconds)
    return {"median_seconds": median(seconds), "slow": slow}
