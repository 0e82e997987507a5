"""Compare a number with its smallest and largest legal value."""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return whether the number is within the range; a missing value is."""
    value = sample.get("<< config.field >>")
    if value is None:
        return {"is_in_range": True}
    return {"is_in_range": float("<< config.minimum >>") <= value <= float("<< config.maximum >>")}
