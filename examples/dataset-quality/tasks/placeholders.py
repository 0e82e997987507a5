"""Find texts that stand for a missing value."""

from typing import Any

PLACEHOLDERS = {"n/a", "na", "nan", "null", "none", "nil", "-", "--", "?", "unknown", "tbd"}


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return whether the text is one."""
    text = str(sample.get("<< config.field >>") or "").strip().lower()
    return {"is_text": text not in PLACEHOLDERS}
