from __future__ import annotations

from collections import Counter
from typing import Any


def compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    column = "<< config.field >>"
    found = [one[column] if column in one else None for one in samples]  # noqa: SIM401
    times = Counter(found)
    return [{"is_unique": True if one is None else times[one] == 1} for one in found]
