"""Find texts whose words are also in a second dataset, ignoring case and punctuation."""

import re
from typing import Any


def compute_scores(samples: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return one entry per row of the first dataset, in order."""
    known = {words(row) for row in samples["<< config.known >>"]}
    rows = samples["<< config.dataset >>"]
    return [{"scores": {"is_new": words(row) not in known}} for row in rows]


def words(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(re.findall(r"\w+", str(row.get("<< config.field >>") or "").lower()))
