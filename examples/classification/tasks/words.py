"""Counts for metrics that are summed over all samples before they are divided."""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Count the keywords that were found, found wrongly, and missed."""
    wanted, found = set(sample["keywords"]), set(sample["found"])
    return {
        "right": len(wanted & found),
        "too_many": len(found - wanted),
        "missed": len(wanted - found),
    }
