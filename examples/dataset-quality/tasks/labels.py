"""Return the label, whose frequencies the metric counts."""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return the label; null if there is none."""
    return {"label": sample.get("<< config.field >>")}
