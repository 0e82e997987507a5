"""Find texts with the same words as an earlier one, ignoring case and punctuation."""

import re
from typing import Any


def compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry per row, in order."""
    first: dict[tuple[str, ...], int] = {}
    entries = []
    for number, sample in enumerate(samples):
        words = tuple(re.findall(r"\w+", str(sample.get("<< config.field >>") or "").lower()))
        earlier = first.setdefault(words, number)
        entries.append({"scores": {"is_new": earlier == number}, "metadata": {"row": earlier}})
    return entries
