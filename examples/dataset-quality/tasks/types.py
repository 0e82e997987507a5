"""Compare the spelling of a value with a pattern, such as that of a date."""

import re
from typing import Any

PATTERN = re.compile(r"<< config.pattern >>")


def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
    """Return whether the value has the form; a missing value has every form."""
    value = sample.get("<< config.field >>")
    return {"has_type": value is None or bool(PATTERN.fullmatch(str(value)))}
