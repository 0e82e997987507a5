"""Count keywords for precision and recall, which are computed from totals over all samples."""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Count the keywords that were found correctly, found wrongly, or missed."""
    wanted, found = set(sample["keywords"]), set(sample["found"])
    return {
        "right": len(wanted & found),
        "too_many": len(found - wanted),
        "missed": len(wanted - found),
    }
