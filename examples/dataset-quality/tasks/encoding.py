"""Find UTF-8 that was read as Windows-1252, and characters that could not be decoded."""

import re
from typing import Any

WRONG = re.compile("\ufffd|\u00c3[\u0080-\u00bf]|\u00e2\u20ac")


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return whether the text has none of them."""
    return {"is_readable": not WRONG.search(str(sample.get("<< config.field >>") or ""))}
