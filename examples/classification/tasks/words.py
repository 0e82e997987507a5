"""Counts, for metrics that sum over all samples before they divide."""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Of the words that should be found, which were, and which others."""
    wanted, found = set(sample["keywords"]), set(sample["found"])
    return {
        "right": len(wanted & found),
        "too_many": len(found - wanted),
        "missed": len(wanted - found),
    }
