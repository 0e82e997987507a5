"""Measure the length of a text in characters."""

from typing import Any


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return the length, and whether it is within the limits."""
    characters = len(str(sample.get("<< config.field >>") or ""))
    is_usual = int("<< config.minimum >>") <= characters <= int("<< config.maximum >>")
    return {"is_usual": is_usual, "characters": characters}
